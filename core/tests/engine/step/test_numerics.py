from __future__ import annotations

import json
import os

import pytest
import torch

from reid_core.config.training import TrainConfig
from reid_core.engine.step.numerics import WORKSPACE, Numerics, told_by_setting
from reid_core.errors import ConfigError, TrainingError
from reid_core.evaluation.distances.precision import full_float32
from reid_core.testing.tiny_run import TinyRun, TinyTrainer

CPU, CUDA = torch.device("cpu"), torch.device("cuda")
STRICT = Numerics(deterministic=True)


def tf32_of_torch():
    """Every switch of TensorFloat-32, the older ones first; an error where torch gives one."""
    backends = torch.backends
    newer = [backends.cuda.matmul, backends.cudnn.conv, backends.cudnn.rnn, backends.cudnn]
    return (
        backends.cuda.matmul.allow_tf32,
        backends.cudnn.allow_tf32,
        torch.get_float32_matmul_precision(),
        *(part.fp32_precision for part in newer if hasattr(backends, "fp32_precision")),
    )


def all_of_torch():
    return (
        tf32_of_torch(),
        torch.backends.cudnn.benchmark,
        torch.backends.cudnn.deterministic,
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        os.environ.get(WORKSPACE),
    )


def put_twice():
    """An operation that torch has no repeating kernel of, on a CPU either."""
    places = torch.tensor([0, 0])
    return torch.zeros(2).put_(places, torch.tensor([1.0, 2.0]))


def test_convolutions_lose_the_tf32_that_torch_gives_them():
    assert torch.backends.cudnn.allow_tf32, "torch's own default"
    with Numerics().applied():
        assert (torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32) == (
            False,
            False,
        )
    with Numerics(tf32=True).applied():
        assert (torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32) == (
            True,
            True,
        )
        assert torch.get_float32_matmul_precision() == "high", "torch.compile reads it"


@pytest.mark.parametrize("numerics", [Numerics(), Numerics(tf32=True), STRICT])
def test_everything_is_as_before_afterwards(numerics):
    before = all_of_torch()
    with pytest.raises(KeyError), numerics.applied():
        raise KeyError
    assert all_of_torch() == before


def test_what_a_program_had_set_before_is_restored():
    former = all_of_torch()
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        mine = all_of_torch()
        with STRICT.applied():
            assert not torch.is_deterministic_algorithms_warn_only_enabled()
            assert not torch.backends.cudnn.benchmark
        assert all_of_torch() == mine
    finally:
        torch.use_deterministic_algorithms(False)
        torch.backends.cudnn.benchmark = False
        torch.backends.cuda.matmul.allow_tf32 = False
        if hasattr(torch.backends, "fp32_precision"):
            torch.backends.cuda.matmul.fp32_precision = "none"
    assert all_of_torch() == former


@pytest.mark.skipif(not hasattr(torch.backends, "fp32_precision"), reason="a newer switch of torch")
def test_a_newer_switch_that_was_set_alone_is_restored():
    conv = torch.backends.cudnn.conv
    conv.fp32_precision = "ieee"
    try:
        with Numerics(tf32=True).applied():
            assert conv.fp32_precision == "tf32"
        assert conv.fp32_precision == "ieee"
    finally:
        conv.fp32_precision = "tf32"
    assert torch.backends.cudnn.allow_tf32


def test_distances_stay_float32_while_training_uses_tf32():
    with Numerics(tf32=True).applied():
        before = tf32_of_torch()
        with full_float32(CPU):
            if hasattr(torch.backends, "fp32_precision"):
                assert torch.backends.cuda.matmul.fp32_precision == "ieee"
            else:
                assert torch.get_float32_matmul_precision() == "highest"
        assert tf32_of_torch() == before


@pytest.mark.parametrize(
    ("device", "settings", "expected"),
    [
        (CPU, {}, Numerics()),
        (CPU, {"deterministic": True}, STRICT),
        (CUDA, {}, Numerics(cudnn_benchmark=True)),
        (CUDA, {"tf32": True}, Numerics(tf32=True, cudnn_benchmark=True)),
        (CUDA, {"tf32": True, "deterministic": True}, Numerics(tf32=True, deterministic=True)),
    ],
)
def test_settings_and_device_give_the_switches(device, settings, expected):
    assert Numerics.of_config(TrainConfig(**settings), device) == expected


def test_tf32_without_a_gpu_for_it_is_told(caplog):
    assert not Numerics.of_config(TrainConfig(tf32=True), CPU).tf32
    assert "train.tf32 is true, which changes nothing on cpu" in caplog.text


def test_the_workspace_of_cublas_is_set_and_taken_back(monkeypatch):
    monkeypatch.delenv(WORKSPACE, raising=False)
    with STRICT.applied():
        assert os.environ[WORKSPACE] == ":4096:8"
    assert WORKSPACE not in os.environ
    monkeypatch.setenv(WORKSPACE, ":16:8")
    with STRICT.applied():
        assert os.environ[WORKSPACE] == ":16:8"
    assert os.environ[WORKSPACE] == ":16:8"


def test_a_workspace_that_does_not_repeat_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setenv(WORKSPACE, ":0:0")
    before = all_of_torch()
    with pytest.raises(ConfigError, match=r"CUBLAS_WORKSPACE_CONFIG is ':0:0'.* :4096:8 or :16:8"):
        STRICT.applied().__enter__()
    assert all_of_torch() == before


def test_an_operation_without_a_repeating_kernel_is_told_by_the_setting():
    with STRICT.applied(), pytest.raises(TrainingError) as raised, told_by_setting():
        put_twice()
    assert str(raised.value).startswith(
        "train.deterministic is true, and an operation of this run has no kernel that gives the "
        "same bits every time: put_ does not have a deterministic implementation"
    )
    assert str(raised.value).endswith("set train.deterministic=false, or leave that part out")
    names = {entry.name for entry in raised.traceback}
    assert "put_twice" in names, "the traceback leads to the operation"


def test_other_errors_stay_what_they_are():
    with STRICT.applied(), pytest.raises(RuntimeError, match="size of tensor"), told_by_setting():
        torch.zeros(2) + torch.zeros(3)
    with pytest.raises(RuntimeError, match="my own, not deterministic"), told_by_setting():
        raise RuntimeError("my own, not deterministic")


class PuttingTrainer(TinyTrainer):
    """Has a loss that needs an operation without a repeating kernel."""

    def call_model(self, batch):
        put_twice()
        self.seen = all_of_torch()
        return super().call_model(batch)


def test_a_run_computes_as_its_settings_say_and_states_it(tmp_path, caplog):
    settings = {"train.epochs": 1, "evaluate.every": 0, "default_hooks": []}
    before = all_of_torch()
    caplog.set_level("INFO", logger="reid_core")
    trainer = PuttingTrainer(TinyRun(settings=settings).config(tmp_path))
    trainer.resume_or_load()
    trainer.train()
    assert not trainer.seen[0][1], "convolutions in float32"
    assert all_of_torch() == before
    stated = json.loads((trainer.folder.path / "env.json").read_text())["numerics"]
    assert stated == {"tf32": False, "deterministic": False, "cudnn_benchmark": False}
    assert "numerics: TF32 off, deterministic off, cuDNN benchmark off" in caplog.messages


def test_a_deterministic_run_ends_at_an_operation_that_does_not_repeat(tmp_path):
    settings = {"train.deterministic": True, "evaluate.every": 0, "default_hooks": []}
    trainer = PuttingTrainer(TinyRun(settings=settings).config(tmp_path))
    trainer.resume_or_load()
    before = all_of_torch()
    with pytest.raises(TrainingError, match=r"train.deterministic is true.* put_ does not have"):
        trainer.train()
    assert all_of_torch() == before
    status = json.loads((trainer.folder.path / "status.json").read_text())
    assert "set train.deterministic=false" in status["reason"]
