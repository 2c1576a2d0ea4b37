from __future__ import annotations

import logging
from types import SimpleNamespace

import pytest
import torch

from reid_core.errors import ConfigError
from reid_core.hookspecs import hookimpl
from reid_plugin_hooks import freeze as module
from reid_plugin_hooks.freeze import Freeze

SGD = {"name": "reid-core/sgd", "lr": 0.01, "momentum": 0.9, "weight_decay": 0.1}
ADAMW = {"name": "reid-core/adamw", "lr": 0.01, "weight_decay": 0.1}


class States:
    """Keeps the state of the model before each step, and after the last."""

    def __init__(self):
        self.states = []
        self.gradients = []

    @hookimpl(tryfirst=True)
    def before_step(self, trainer):
        self._keep(trainer)

    @hookimpl
    def after_backward(self, trainer):
        self.gradients.append(
            {name for name, p in trainer.model.named_parameters() if p.grad is not None}
        )

    @hookimpl
    def after_train(self, trainer):
        self._keep(trainer)

    def _keep(self, trainer):
        state = trainer.model.state_dict()
        self.states.append({name: value.clone() for name, value in state.items()})

    def moved(self, step):
        """Return what a step, from 0, has changed."""
        before, after = self.states[step : step + 2]
        return {name for name, value in after.items() if not torch.equal(value, before[name])}


class Wake:
    """Puts the whole model into training mode before each step, as careless code does."""

    @hookimpl
    def before_step(self, trainer):
        trainer.model.train()


def run(trainer, *hooks):
    seen = States()
    trainer.register_hooks([seen, *hooks])
    trainer.run()
    return seen


def freeze(*modules, **parameters):
    return {"name": "freeze", "modules": list(modules), **parameters}


BACKBONE = {
    "backbone.conv.weight", "backbone.conv.bias", "backbone.norm.weight", "backbone.norm.bias",
    "backbone.norm.running_mean", "backbone.norm.running_var",
    "backbone.norm.num_batches_tracked",
}  # fmt: skip
HEAD = {"head.classifier.weight", "head.classifier.bias"}


# B092: 100 steps with momentum and weight decay, evaluations in between.
def test_a_frozen_part_is_bitwise_the_same_after_a_hundred_steps(tiny):
    trainer = tiny(
        freeze("backbone", steps=100),
        train__epochs=26,
        train__optimizer=SGD,
        evaluate__every=5,
        evaluate__at_start=True,
    )
    seen = run(trainer, Wake())
    assert len(seen.states) == 105
    for name in BACKBONE:
        assert torch.equal(seen.states[0][name], seen.states[100][name]), name
    assert all(gradients == HEAD for gradients in seen.gradients[:100])
    assert all(seen.moved(step) == HEAD for step in (0, 50, 99))
    assert seen.moved(100) == BACKBONE | HEAD, "the release gives everything back"
    assert seen.states[-1]["backbone.norm.num_batches_tracked"] == 4


@pytest.mark.parametrize("optimizer", [SGD, ADAMW])
def test_after_the_release_everything_is_trained_again(tiny, optimizer):
    trainer = tiny(freeze("backbone", epochs=1), train__optimizer=optimizer)
    seen = run(trainer)
    assert [seen.moved(step) for step in range(8)] == [HEAD] * 4 + [BACKBONE | HEAD] * 4
    assert all(p.requires_grad for p in trainer.model.parameters())
    assert all(m.training for m in trainer.model.modules())


def test_the_part_is_frozen_before_the_first_step(tiny):
    class Look:
        @hookimpl
        def before_epoch(self, trainer, epoch):
            if epoch == 0:
                assert not any(p.requires_grad for p in trainer.model.backbone.parameters())
                assert not trainer.model.backbone.norm.training
                assert trainer.model.backbone.training, "only layers with statistics"

    trainer = tiny(freeze("backbone", steps=1))
    trainer.register_hooks([Look()])
    trainer.run()


@pytest.mark.parametrize("until", [3, 6, 7])
def test_a_resumed_run_ends_as_the_whole_one(tiny, require_equal, until):
    settings = {"train__optimizer": SGD}
    whole = tiny(freeze("backbone", steps=6), run="whole", **settings).run()
    tiny(freeze("backbone", steps=6), **settings).run(until=until)
    resumed = tiny(freeze("backbone", steps=6), **settings)
    seen = run(resumed)
    require_equal(whole.model.state_dict(), resumed.model.state_dict())
    moved = [seen.moved(step) for step in range(8 - until)]
    expected = [HEAD if step < 6 else BACKBONE | HEAD for step in range(until, 8)]
    assert moved == expected


def test_a_run_that_is_resumed_after_the_release_freezes_nothing(tiny, caplog):
    tiny(freeze("backbone", steps=3)).run(until=3)
    caplog.set_level(logging.INFO, logger="reid_core")
    caplog.clear()
    seen = run(tiny(freeze("backbone", steps=3)))
    assert seen.moved(0) == BACKBONE | HEAD
    assert "hook freeze" not in caplog.text


def test_a_gradient_that_is_there_already_is_dropped():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
    model(torch.ones(1, 2)).sum().backward()
    trainer = SimpleNamespace(model=model, iter=0)
    hook = Freeze(modules=["0"], steps=1)
    hook.before_train(trainer)
    hook.begin(trainer)
    assert [p.grad is None for p in model.parameters()] == [True, True, False, False]


@pytest.mark.parametrize("first_is_longer", [True, False])
def test_several_hooks_release_a_model_bit_by_bit_in_whatever_order(tiny, first_is_longer):
    hooks = [
        freeze("backbone", steps=5) | {"id": "all"},
        freeze("backbone.norm", "backbone.conv.bias", steps=7) | {"id": "some"},
    ]
    seen = run(tiny(*(reversed(hooks) if first_is_longer else hooks), train__optimizer=SGD))
    later = {"backbone.conv.weight"} | HEAD
    expected = [HEAD] * 5 + [later] * 2 + [BACKBONE | HEAD]
    assert [seen.moved(step) for step in range(8)] == expected


def test_what_the_configuration_freezes_is_not_released(tiny):
    settings = {"train__optimizer": {**SGD, "frozen": ["backbone.norm.*"]}}
    seen = run(tiny(freeze("backbone", steps=2), **settings))
    assert seen.moved(7) == {"backbone.conv.weight", "backbone.conv.bias"} | HEAD


def test_a_frozen_head_still_computes_its_losses(tiny):
    seen = run(tiny(freeze("head", steps=4)))
    assert seen.moved(0) == BACKBONE
    assert seen.moved(4) == BACKBONE | HEAD


@pytest.mark.parametrize(
    ("patterns", "still"),
    [
        (["backbone.*"], BACKBONE),
        (["*.norm"], {name for name in BACKBONE if "norm" in name}),
        (["backbone.conv.weight"], {"backbone.conv.weight"}),
        (["backbone.[cd]onv"], {"backbone.conv.weight", "backbone.conv.bias"}),
    ],
)
def test_patterns_name_modules_with_all_below_or_parameters(tiny, patterns, still):
    seen = run(tiny(freeze(*patterns, steps=8)))
    assert seen.moved(0) == (BACKBONE | HEAD) - still


@pytest.mark.parametrize(
    ("pattern", "near"),
    [("backbon", "backbone"), ("backbone.nrom", "backbone.norm"), ("x", "head")],
)
def test_a_pattern_without_a_match_is_an_error_before_training(tiny, pattern, near):
    trainer = tiny(freeze("head", pattern, steps=2))
    with pytest.raises(ConfigError, match=f"{pattern!r} matches no module or .*near it: .*{near}"):
        trainer.run()
    assert trainer.iter == 0


def test_freezing_all_that_is_trained_is_refused(tiny):
    with pytest.raises(ConfigError, match="all that is trained, so nothing would learn"):
        tiny(freeze("*", steps=2)).run()


def test_the_log_says_what_is_frozen_and_when_it_is_released(tiny, caplog):  # B173
    caplog.set_level(logging.INFO, logger="reid_core")
    run(tiny(freeze("backbone", steps=3)))
    expected = "backbone frozen (4 parameter tensors, statistics of 1 layers) until step 3"
    assert expected in caplog.text
    assert "backbone released at step 3" in caplog.text


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "steps is None, epochs is None; expected one of them"),
        ({"steps": 1, "epochs": 1}, "steps is 1, epochs is 1; expected one of them"),
        ({"steps": 0}, "steps is 0, epochs is None; expected one of them, at least 1"),
        ({"epochs": -1}, "epochs is -1; expected one of them, at least 1"),
        ({"modules": [], "steps": 1}, "modules is empty"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters, message):
    with pytest.raises(ConfigError, match=message):
        Freeze(**{"modules": ["backbone"], **parameters})


# B173: whether memory suffices after the release is found out in the first step.
@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_the_first_step_rehearses_one_after_the_release(dry_run, device, monkeypatch):
    model = torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 3))
    trainer = SimpleNamespace(
        model=model, iter=0, data_loader=[0], device=SimpleNamespace(type=device)
    )
    rehearsed = []

    def rehearse(trainer, batch, parameters):
        assert all(p.requires_grad for p in model.parameters())
        assert model[0].training
        rehearsed.append(parameters)

    monkeypatch.setattr(module, "rehearse", rehearse)
    hook = Freeze(modules=["0"], steps=9, dry_run=dry_run)
    hook.before_train(trainer)
    hook.begin(trainer)
    for step in range(3):
        hook.before_step(trainer, step)
        hook.hold(trainer, None)
        assert not model[0].weight.requires_grad
        assert not model[0].training
    expected = [list(model[0].parameters())] if dry_run else []
    assert [list(parameters) for parameters in rehearsed] == expected


# B173
@pytest.mark.parametrize("optimizer", [SGD, ADAMW], ids=["sgd", "adamw"])
def test_a_run_with_a_dry_run_is_bitwise_the_one_without(tiny, optimizer, require_equal):
    first, second = (
        tiny(
            freeze("backbone", steps=3, dry_run=dry_run),
            run=f"dry-{dry_run}",
            train__optimizer=optimizer,
        ).run()
        for dry_run in (True, False)
    )
    require_equal(first.model.state_dict(), second.model.state_dict())
    states = [trainer.optimizer.state_dict()["state"] for trainer in (first, second)]
    assert states[0].keys() == states[1].keys()
    for number, state in states[0].items():
        require_equal(
            {name: torch.as_tensor(value) for name, value in state.items()},
            {name: torch.as_tensor(value) for name, value in states[1][number].items()},
        )
    assert first.results.latest() == second.results.latest()
