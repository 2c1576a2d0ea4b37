"""``train.compile`` against the model as it is, on a model that compiles in seconds."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from reid_core.config import load_config
from reid_core.engine import DefaultTrainer
from reid_core.engine.step.compiled import compile_parts, require_compiler, uncompiled
from reid_core.errors import ConfigError
from reid_core.models import WeightedLosses

CPU = torch.device("cpu")


@pytest.fixture(scope="module", autouse=True)
def compiler():
    try:
        require_compiler(CPU)
    except ConfigError as error:
        pytest.skip(str(error))


def trained(recipe, folder, **settings):
    plain = {
        "output": str(folder),
        "train.epochs": 1,
        "train.channels_last": True,
        "data.transforms": [],
        "evaluate.every": 1,
        **{key.replace("__", "."): value for key, value in settings.items()},
    }
    torch.manual_seed(0)
    trainer = DefaultTrainer(load_config(recipe, plain))
    trainer.resume_or_load()
    trainer.train()
    return trainer


def test_a_compiled_run_is_that_of_the_model_as_it_is(tiny_recipe, tmp_path):
    torch._dynamo.utils.counters.clear()
    plain = trained(tiny_recipe, tmp_path / "plain")
    assert not torch._dynamo.utils.counters["stats"]
    compiled = trained(tiny_recipe, tmp_path / "compiled", train__compile=True)
    stats = torch._dynamo.utils.counters["stats"]
    # The probe was compiled before, by the fixture.
    assert stats["unique_graphs"] == 2, "backbone and head; none for the evaluation"
    expected = plain.model.state_dict()
    assert compiled.model.state_dict().keys() == expected.keys(), "names have no prefix"
    for name, value in compiled.model.state_dict().items():
        torch.testing.assert_close(value, expected[name], rtol=1e-4, atol=1e-5, msg=name)
    ours, theirs = (t.results.latest()["market1501"]["mAP"] for t in (compiled, plain))
    assert ours == pytest.approx(theirs, abs=1e-5)
    path = compiled.folder.path / "checkpoints" / "step_00000004.pt"
    assert torch.load(path, weights_only=True)["model"].keys() == expected.keys()


def test_losses_are_not_compiled_and_bf16_is(tiny_recipe, tmp_path):
    settings = {"train__precision": "bf16", "train__micro_batch": 6, "evaluate__every": 0}
    plain = trained(tiny_recipe, tmp_path / "plain", **settings)
    compiled = trained(tiny_recipe, tmp_path / "compiled", train__compile=True, **settings)
    for name, value in compiled.model.state_dict().items():
        torch.testing.assert_close(
            value.float(), plain.model.state_dict()[name].float(), rtol=0.05, atol=0.05, msg=name
        )


def test_modules_can_be_called_as_they_are():
    model = nn.Sequential(nn.Linear(2, 2))
    compile_parts(model, CPU)
    torch._dynamo.utils.counters.clear()
    with uncompiled(True):
        model(torch.ones(1, 2))
    assert not torch._dynamo.utils.counters["stats"]
    model(torch.ones(1, 2))
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1


def test_a_model_without_parts_is_refused():
    model = nn.Module()
    model.losses = WeightedLosses([])
    with pytest.raises(ConfigError, match=r"train.compile: Module has no parts that could be"):
        compile_parts(model, CPU)


def test_a_missing_compiler_is_told_before_the_first_step(tiny_recipe, tmp_path, monkeypatch):
    def broken(*args, **kwargs):
        def call(*inputs):
            raise RuntimeError("\nInvalidCxxCompiler: No working C++ compiler found\nmore")

        return call

    monkeypatch.setattr(torch, "compile", broken)
    with pytest.raises(
        ConfigError,
        match=r"torch.compile does not work here on cpu: RuntimeError: InvalidCxxCompiler: No "
        r"working C\+\+ compiler found. It needs a C\+\+ compiler, such as g\+\+; install it, or "
        "set train.compile=false",
    ):
        trained(tiny_recipe, tmp_path / "run", train__compile=True)
