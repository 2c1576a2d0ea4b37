"""A run's own ``plugins.disable`` holds wherever its components are looked up."""

from __future__ import annotations

import pytest

from reid_core.config import load_config
from reid_core.engine import DefaultTrainer
from reid_core.engine.check import check_config
from reid_core.engine.evaluation.measure import evaluate_model
from reid_core.engine.evaluation.weights import load_model
from reid_core.errors import ConfigError, PluginError
from reid_core.hookspecs import hookimpl
from reid_core.plugins.index import rescan
from reid_core.plugins.registries import HEADS, PROTOCOLS
from reid_core.plugins.switches import Switch, active_switches

ALL = (Switch(("*",), "plugins.disable"),)


@pytest.fixture
def without_plugins(tiny_recipe, tmp_path):
    changes = {"plugins.disable": ["*"], "output": str(tmp_path / "run")}
    return load_config(tiny_recipe, changes)


@pytest.fixture
def switches_at(monkeypatch):
    """What is switched off whenever a head or a protocol is built."""
    seen = []
    for registry, name in ((HEADS, "tiny_head"), (PROTOCOLS, "market1501")):
        original = registry.get(name)

        def build(*, original=original, **keywords):
            seen.append(active_switches())
            return original(**keywords)

        monkeypatch.setattr(registry, "build", lambda config, build=build, **context: build(
            **{k: v for k, v in context.items() if k in ("feature_dim", "num_classes")}
        ))  # fmt: skip
    return seen


def test_a_trainer_leaves_plugins_out_while_it_builds(without_plugins, switches_at):
    DefaultTrainer(without_plugins)
    assert switches_at
    assert set(switches_at) == {ALL}
    assert active_switches() == ()


def test_evaluation_leaves_plugins_out_too(without_plugins, switches_at):
    model = load_model(without_plugins, None)
    built = len(switches_at)
    assert built
    evaluate_model(without_plugins, model)
    assert len(switches_at) > built
    assert set(switches_at) == {ALL}
    assert active_switches() == ()


def test_a_disabled_component_is_an_error_at_its_place(tiny_recipe, tmp_path, monkeypatch):
    info = tmp_path / "site" / "fake_a-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fake-a\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[reid_core.heads]\nsmall = not_there:Head\n")
    monkeypatch.syspath_prepend(tmp_path / "site")
    rescan()
    try:
        config = load_config(tiny_recipe, ["model.head=small", "plugins.disable=[Fake_A]"])
        with pytest.raises(PluginError) as raised:
            check_config(config)
    finally:
        monkeypatch.undo()
        rescan()
    assert str(raised.value) == (
        "--set model.head=small  model.head: head 'small' of fake-a 1.0 is disabled by "
        "plugins.disable; take fake-a out of plugins.disable to use it"
    )


def test_a_disabled_name_that_cannot_be_meant_is_an_error_at_its_place(tiny_recipe):
    with pytest.raises(ConfigError, match=r"^--set plugins.disable=\[reid-core\]  plugins.disab"):
        check_config(load_config(tiny_recipe, ["plugins.disable=[reid-core]"]))


def test_they_are_left_out_while_it_trains_too(without_plugins):
    seen = {}

    class Look:
        @hookimpl
        def before_train(self):
            seen["train"] = active_switches()

        @hookimpl
        def before_eval(self):
            seen["test"] = active_switches()

    trainer = DefaultTrainer(without_plugins)
    trainer.register_hooks([Look()])
    trainer.train(0, 1)
    trainer.test()
    assert seen == {"train": ALL, "test": ALL}
    assert active_switches() == ()
