from __future__ import annotations

import pytest

from reid_core.config import load_config
from reid_core.engine.check import check_config
from reid_core.errors import ConfigError, PluginError, UsageError
from reid_core.plugins.registries import HOOKS, OPTIMIZERS


def check(recipe, *overrides):
    return check_config(load_config(recipe, overrides))


def test_every_component_is_resolved_once_with_its_origin(tiny_recipe):
    refs = check(tiny_recipe)
    found = {(ref.kind, ref.name): ref.dist for ref in refs}
    assert found["samplers", "identity"] == "reid-core"
    assert found["backbones", "tiny_backbone"] == "local"
    assert found["hooks", "checkpoint"] == "reid-core"
    assert len(refs) == len(set(refs))


def test_all_parameter_problems_come_at_once_with_their_place(tiny_recipe):
    text = tiny_recipe.read_text()
    text = text.replace("{name: tiny_backbone}", "{name: tiny_backbone, droput: 0.1}")
    text = text.replace("{name: random_flip}", "{name: random_flip, probability: often}")
    text = text.replace("milestones: [2], ", "")
    tiny_recipe.write_text(text)
    with pytest.raises(ConfigError) as caught:
        check(tiny_recipe)
    first, second, third = str(caught.value).splitlines()
    assert first.startswith(f"{tiny_recipe}:3:35  model.backbone.droput: backbone tiny_backbone:")
    assert "did you mean dropout?" in first
    assert "data.transforms.0.probability: transform random_flip:" in second
    assert "got 'often'" in second
    assert "required parameter 'milestones' is missing" in third


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("model.losses.0.wieght=2", "loss tiny_loss: unknown parameter.*did you mean weight"),
        ("train.schedule.warmpu={epochs: 1}", "schedule multistep: .*did you mean warmup"),
        ("model.backbon=x", "model baseline: .*did you mean backbone"),
        ("data.batch.instnces=2", "sampler identity: .*did you mean instances"),
        ("optimizer.betas=no", "optimizer adam: "),
        ("data.batch={instances:4}", "a space must follow the colon: instances: 4"),
    ],
)
def test_a_typo_beside_a_component_gets_a_hint(tiny_recipe, override, message):
    with pytest.raises(ConfigError, match=message):
        check(tiny_recipe, override)


def test_problems_that_hooks_find_point_at_their_line(tiny_recipe):
    from reid_core.config import ConfigProblem
    from reid_core.hookspecs import hookimpl

    class Picky:
        @hookimpl
        def validate_config(self, config):
            return [ConfigProblem("model.losses.0.name", "not this loss")]

    HOOKS.register(Picky, name="picky")
    try:
        with pytest.raises(ConfigError, match=r"tiny.yaml:5:13  model.losses.0.name: not this"):
            check(tiny_recipe, "hooks=[picky]")
    finally:
        HOOKS._local.pop("picky")


def test_requirements_are_compared_with_what_is_installed(tiny_recipe):
    check(tiny_recipe, "plugins.require=[reid-core>=0.1]")
    with pytest.raises(PluginError, match=r"reid-core>=99 is not met \(installed: 0.1.0\)"):
        check(tiny_recipe, "plugins.require=[reid-core>=99]")
    with pytest.raises(PluginError, match=r"installed: nothing\); pip install 'reid-plugin-x'"):
        check(tiny_recipe, "plugins.require=[reid-plugin-x]")
    with pytest.raises(ConfigError, match="is no requirement"):
        check(tiny_recipe, "plugins.require=['>>1']")


def test_all_missing_components_are_named_at_once(tiny_recipe):
    with pytest.raises(PluginError) as caught:
        check(tiny_recipe, "model.backbone=tiny_bckbone", "data.transforms=[random_flap]")
    message = str(caught.value)
    assert "did you mean tiny_backbone" in message
    assert "did you mean random_flip" in message


def test_what_only_a_constructor_can_tell_is_found_too(tiny_recipe):
    with pytest.raises(ConfigError, match=r"tiny.yaml:\d+:3  train.schedule: .*they must rise"):
        check(tiny_recipe, "train.schedule.milestones=[5, 2]")
    with pytest.raises(ConfigError, match=r"data.transforms.0: .*expected 0..1"):
        check(tiny_recipe, "data.transforms=[{name: random_flip, probability: 3}]")


def test_an_unknown_name_points_at_where_it_was_written(tiny_recipe):
    with pytest.raises(PluginError, match=r"^--set model.backbone.name=x  model.backbone:"):
        check(tiny_recipe, "model.backbone.name=x")


def test_a_parameter_of_the_schema_that_an_optimizer_lacks_is_not_its_own_hint(
    tiny_recipe, monkeypatch
):
    monkeypatch.setattr(OPTIMIZERS, "_local", {"plain": lambda params, lr: None})
    with pytest.raises(ConfigError, match="optimizer plain: unknown parameter") as caught:
        check(tiny_recipe, "train.optimizer={name: plain, lr: 0.1}")
    assert "did you mean" not in str(caught.value)


def test_an_order_of_rerankers_that_cannot_work_is_refused_before_data_is_read(tiny_recipe):
    with pytest.raises(UsageError, match="k_reciprocal changes distances, so aqe cannot come"):
        check(tiny_recipe, "evaluate.rerank=[k_reciprocal, aqe]")
