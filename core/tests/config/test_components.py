from __future__ import annotations

from reid_core.config.components import BatchConfig, Component, HookConfig, LossConfig


def test_a_component_keeps_its_own_parameters_beside_its_name() -> None:
    component = Component.model_validate({"name": "timm", "model_name": "resnet50", "sizes": [1]})
    assert component.parameters == {"model_name": "resnet50", "sizes": [1]}
    assert component.as_call() == {"name": "timm", "model_name": "resnet50", "sizes": [1]}


def test_a_bare_name_is_a_component_without_parameters() -> None:
    assert Component.model_validate("timm") == Component(name="timm")
    assert Component(name="timm").parameters == {}


def test_what_the_schema_knows_is_not_passed_to_the_component() -> None:
    loss = LossConfig.model_validate({"name": "triplet", "weight": 2, "margin": 0.3})
    assert loss.as_call() == {"name": "triplet", "margin": 0.3}
    assert loss.weight == 2.0
    hook = HookConfig.model_validate({"name": "ema", "id": "slow", "decay": 0.9})
    assert hook.as_call() == {"name": "ema", "decay": 0.9}


def test_a_hook_is_known_by_its_id_or_else_its_name() -> None:
    assert HookConfig(name="ema").key == "ema"
    assert HookConfig(name="ema", id="slow").key == "slow"


def test_a_batch_is_a_call_of_its_sampler() -> None:
    batch = BatchConfig.model_validate({"sampler": "random", "size": 8})
    assert batch.as_call() == {"name": "random", "size": 8}
    assert BatchConfig().as_call() == {"name": "identity"}


def test_the_parameters_are_a_copy() -> None:
    component = Component.model_validate({"name": "timm", "size": 1})
    component.parameters["size"] = 2
    assert component.parameters == {"size": 1}
