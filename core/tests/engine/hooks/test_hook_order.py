"""The rules of order and of exceptions, and that every hook has a user among our own."""

from __future__ import annotations

import logging

import pytest
import torch

from reid_core.config import load_config
from reid_core.engine import DefaultTrainer, HookBase, HookManager, StepResult, TrainerBase
from reid_core.engine.hooks.implementations import HOOK_NAMES, implementations
from reid_core.errors import ConfigError, PluginError
from reid_core.hookspecs import hookimpl
from reid_core.plugins.registries import HOOKS


class Trainer(TrainerBase):
    def run_step(self, batch):
        return StepResult(torch.tensor(1.0))


def test_every_hook_is_used_by_a_hook_of_ours(tiny_config):
    ours = [HOOKS.get(name) for name in HOOKS if HOOKS.resolve(name).dist.startswith("reid-")]
    # The step, the meter and the status file are the trainer's, under ids of their own.
    always = [hook for _, hook in DefaultTrainer(tiny_config).hooks.items()]
    used = {i.hook for hook in [*ours, *always] for i in implementations(hook)}
    assert used == set(HOOK_NAMES)


def test_after_backward_comes_when_gradients_are_there_and_weights_are_old(tiny_config):
    seen = {}

    class Look:
        @hookimpl
        def before_step(self, trainer, step):
            seen["before"] = trainer.model.head.classifier.weight.detach().clone()

        @hookimpl
        def after_backward(self, trainer, step):
            weight = trainer.model.head.classifier.weight
            seen["gradient"] = weight.grad.abs().sum().item()
            seen["same"] = torch.equal(weight, seen["before"])
            seen["step"] = step

        @hookimpl
        def after_step(self, trainer, step):
            assert seen["step"] == step
            seen["moved"] = not torch.equal(trainer.model.head.classifier.weight, seen["before"])

    trainer = DefaultTrainer(tiny_config)
    trainer.register_hooks([Look()])
    trainer.train(0, 1)
    assert seen["gradient"] > 0
    assert seen["same"]
    assert seen["moved"]


def test_gradients_changed_in_after_backward_are_the_ones_that_count(tiny_recipe, tmp_path):
    class Zero:
        @hookimpl
        def after_backward(self, trainer):
            for parameter in trainer.model.parameters():
                if parameter.grad is not None:
                    parameter.grad.zero_()

    settings = {"output": str(tmp_path / "zero"), "train.optimizer": {"name": "sgd", "lr": 1.0}}
    settings["train.optimizer"]["weight_decay"] = 0.0
    trainer = DefaultTrainer(load_config(tiny_recipe, settings))
    before = [parameter.detach().clone() for parameter in trainer.model.parameters()]
    trainer.register_hooks([Zero()])
    trainer.train(0, 2)
    assert all(map(torch.equal, before, trainer.model.parameters()))


def test_before_and_after_have_the_same_order_and_wrappers_are_outside():
    calls = []

    def hook(name, **options):
        class Hook:
            @hookimpl(**options)
            def before_step(self):
                calls.append(f"{name} before")

            @hookimpl(**options)
            def after_step(self):
                calls.append(f"{name} after")

        return Hook()

    class Around:
        @hookimpl(wrapper=True)
        def before_step(self):
            calls.append("around")
            result = yield
            calls.append("around")
            return result

    trainer = Trainer()
    trainer.register_hooks([hook("last", trylast=True), hook("a"), Around(), hook("b")])
    trainer.train(0, 1)
    before = ["a before", "b before", "last before"]
    assert calls == ["around", *before, "around", "a after", "b after", "last after"]


def test_hooks_that_come_later_in_a_call_that_failed_are_not_called():
    calls = []

    class Counts:
        def __init__(self, name):
            self.name = name

        @hookimpl
        def after_step(self):
            calls.append(self.name)

        @hookimpl
        def after_train(self):
            calls.append(f"{self.name} end")

    class Fails:
        @hookimpl
        def after_step(self):
            raise ValueError

    trainer = Trainer()
    trainer.register_hooks([Counts("a"), Fails(), Counts("b")])
    with pytest.raises(ValueError):
        trainer.train(0, 1)
    assert calls == ["a", "a end", "b end"]


def test_stop_iteration_of_a_hook_comes_out_as_it_is():
    class Fails:
        @hookimpl
        def after_step(self):
            raise StopIteration("mine")

    class Around:
        @hookimpl(wrapper=True)
        def after_step(self):
            return (yield)

    trainer = Trainer()
    trainer.register_hooks([Around(), Fails()])
    with pytest.raises(StopIteration, match="mine"):
        trainer.train(0, 1)


def test_two_hooks_that_do_the_step_are_refused_and_named():
    class Sam:
        @hookimpl
        def run_step(self, trainer, batch):
            return StepResult(torch.tensor(2.0))

    class Around:
        @hookimpl(wrapper=True)
        def run_step(self):
            return (yield)

    trainer = Trainer()
    trainer.hooks.extend([("sam", Sam()), ("profiler", Around())])
    with pytest.raises(PluginError, match="hooks 'sam' and 'other' both replace run_step"):
        trainer.hooks.add(Sam(), id="other")
    assert trainer.train(0, 1).status == "completed"


def test_starred_and_keyword_only_arguments_are_refused():
    class Stars:
        @hookimpl
        def after_step(self, **arguments):
            pass

    class Keywords:
        @hookimpl
        def after_step(self, *, step):
            pass

    for hook in (Stars(), Keywords()):
        with pytest.raises(PluginError, match="would never be filled; name those that it needs"):
            HookManager().add(hook)


def test_a_hook_of_unmarked_methods_is_answered_with_what_was_probably_meant():
    class Unmarked:
        def after_stp(self, step):
            pass

    with pytest.raises(PluginError, match="after_stp: did you mean after_step") as caught:
        HookManager().add(Unmarked())
    assert "its methods are after_stp" in str(caught.value)
    assert "mark its methods with @hookimpl" in str(caught.value)


def test_a_seed_hook_that_overrides_nothing_is_warned_of(caplog):
    caplog.set_level(logging.WARNING, "reid_core")

    class Nothing(HookBase):
        def after_stpe(self):
            pass

    HookManager().add(Nothing())
    assert "overrides no method of HookBase, so it does nothing" in caplog.text
    assert "after_stpe: did you mean after_step?" in caplog.text


def test_only_an_observer_can_be_set_to_be_switched_off(tiny_recipe):
    config = load_config(tiny_recipe, {"hooks": [{"name": "ema", "on_error": "disable"}]})
    with pytest.raises(ConfigError, match="hook ema cannot be switched off when it fails"):
        DefaultTrainer(config)


def test_steps_done_counts_the_update_of_the_running_step():
    seen = []

    class Look:
        @hookimpl
        def before_step(self, trainer):
            seen.append((trainer.iter, trainer.steps_done))

        @hookimpl
        def after_step(self, trainer):
            seen.append((trainer.iter, trainer.steps_done))

    trainer = Trainer()
    trainer.register_hooks([Look()])
    trainer.train(0, 2)
    assert seen == [(0, 0), (0, 1), (1, 1), (1, 2)]
    assert trainer.steps_done == 2
