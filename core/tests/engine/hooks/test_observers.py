from __future__ import annotations

import logging

import pytest
import torch

from reid_core.engine import HookManager, StepResult, TrainerBase
from reid_core.engine.hooks.hook_base import HookBase
from reid_core.errors import Interrupted, PluginError
from reid_core.hookspecs import hookimpl


class Trainer(TrainerBase):
    def run_step(self, batch):
        return StepResult(torch.tensor(1.0))


class Tracker:
    """Fails at its third step, as a tracker whose server is gone."""

    observer = True

    def __init__(self, error=None):
        self.error = error or OSError("no route to host")
        self.steps, self.closed = [], False

    @hookimpl
    def after_step(self, step):
        self.steps.append(step)
        if step == 2:
            raise self.error

    @hookimpl
    def after_train(self):
        self.closed = True


class Counter:
    def __init__(self):
        self.steps = []

    @hookimpl
    def after_step(self, step):
        self.steps.append(step)


def test_a_failing_observer_is_switched_off_and_everything_else_goes_on(caplog):
    caplog.set_level(logging.WARNING, "reid_core")
    trainer, tracker, before, after = Trainer(), Tracker(), Counter(), Counter()
    trainer.hooks.extend([("before", before), ("tracker", tracker), ("after", after)])
    assert trainer.train(0, 6).status == "completed"
    assert before.steps == after.steps == [0, 1, 2, 3, 4, 5]
    assert tracker.steps == [0, 1, 2]
    assert not tracker.closed, "it is not called again, not even at the end"
    (record,) = caplog.records
    assert "hook 'tracker'" in record.message
    assert "failed in after_step and is switched off" in record.message
    assert "OSError: no route to host" in record.message


def test_its_place_in_the_log_file_has_the_traceback(caplog):
    caplog.set_level(logging.DEBUG, "reid_core")
    trainer = Trainer()
    trainer.hooks.add(Tracker(), id="tracker")
    trainer.train(0, 3)
    assert any(record.exc_info for record in caplog.records if record.levelno == logging.DEBUG)


def test_an_observer_can_be_told_to_stop_the_run():
    trainer = Trainer()
    trainer.hooks.add(Tracker(), id="tracker")
    trainer.hooks.stop_for(["tracker"])
    with pytest.raises(OSError, match="no route to host"):
        trainer.train(0, 6)


def test_another_failing_hook_stops_the_run_and_is_named():
    class Fails(Tracker):
        observer = False

    trainer = Trainer()
    trainer.hooks.add(Fails(), id="mine")
    with pytest.raises(OSError, match="no route to host") as caught:
        trainer.train(0, 6)
    assert any("raised by hook 'mine' (module " in note for note in caught.value.__notes__)


@pytest.mark.parametrize("error", [Interrupted(15), KeyboardInterrupt(), SystemExit(3)])
def test_an_order_to_leave_passes_through_an_observer(error):
    trainer = Trainer()
    trainer.hooks.add(Tracker(error), id="tracker")
    with pytest.raises(type(error)):
        trainer.train(0, 6)


def test_the_state_of_an_observer_that_is_off_is_not_saved():
    class WithState(Tracker):
        def state_dict(self):
            return {"steps": len(self.steps)}

        def load_state_dict(self, state):
            pass

    trainer = Trainer()
    trainer.hooks.add(WithState(), id="tracker")
    assert trainer.hooks.state_dict() == {"tracker": {"steps": 0}}
    trainer.train(0, 6)
    assert trainer.hooks.state_dict() == {}


def test_the_methods_of_the_seeds_are_guarded_too():
    class Seed(HookBase):
        observer = True
        calls = 0

        def after_step(self):
            self.calls += 1
            raise ValueError

    trainer, hook = Trainer(), Seed()
    trainer.register_hooks([hook])
    assert trainer.train(0, 3).status == "completed"
    assert hook.calls == 1


def test_an_observer_does_not_answer_for_a_hook_that_it_calls():
    class Logs:
        observer = True

        @hookimpl
        def after_step(self, trainer, step):
            trainer.hooks.on_log(trainer=trainer, step=step, scalars={})

    class Broken:
        @hookimpl
        def on_log(self):
            raise OSError("the disk is full")

    trainer = Trainer()
    trainer.hooks.extend([("logs", Logs()), ("broken", Broken())])
    with pytest.raises(OSError, match="the disk is full") as caught:
        trainer.train(0, 3)
    assert any("raised by hook 'broken'" in note for note in caught.value.__notes__)


def test_a_state_that_an_observer_cannot_give_or_take_switches_it_off(caplog):
    class Broken(Counter):
        observer = True

        def state_dict(self):
            raise KeyError("n")

        def load_state_dict(self, state):
            raise KeyError("m")

    for call in (lambda hooks: hooks.state_dict(), lambda hooks: hooks.load_state_dict({"b": {}})):
        trainer, broken = Trainer(), Broken()
        trainer.hooks.add(broken, id="b")
        call(trainer.hooks)
        trainer.train(0, 2)
        assert broken.steps == []
    assert "failed in state_dict and is switched off" in caplog.text
    assert "failed in load_state_dict and is switched off" in caplog.text


def test_the_state_of_another_hook_that_fails_names_it():
    class Broken(Counter):
        def state_dict(self):
            raise KeyError("n")

        def load_state_dict(self, state):
            pass

    trainer = Trainer()
    trainer.hooks.add(Broken(), id="mine")
    with pytest.raises(KeyError, match="n") as caught:
        trainer.hooks.state_dict()
    assert caught.value.__notes__ == [f"raised by hook 'mine' (module {__name__}) in state_dict"]


def test_only_the_class_can_say_that_a_hook_is_an_observer():
    class Says(Tracker):
        observer = False

        def __init__(self):
            super().__init__()
            self.observer = True

    trainer = Trainer()
    trainer.hooks.add(Says(), id="mine")
    with pytest.raises(OSError, match="no route"):
        trainer.train(0, 6)


class Model(Trainer):
    """A trainer with one weight, and its gradient."""

    def __init__(self):
        super().__init__()
        self.model = torch.nn.Linear(2, 1)

    def run_step(self, batch):
        self.model.zero_grad()
        self.model(torch.ones(1, 2)).sum().backward()
        self.hooks.after_backward(trainer=self, step=self.iter)
        return super().run_step(batch)


def doubles(trainer):
    trainer.model.weight.grad.mul_(2)


def replaces(trainer):
    trainer.model.weight.grad = torch.zeros(1, 2)


def steps(trainer):
    with torch.no_grad():
        trainer.model.weight.add_(1)


@pytest.mark.parametrize("change", [doubles, replaces, steps])
def test_an_observer_that_changes_the_run_ends_it_and_is_not_switched_off(change):
    class Clips:
        observer = True

        @hookimpl
        def after_backward(self, trainer):
            change(trainer)

    trainer = Model()
    trainer.hooks.bind(trainer)
    trainer.hooks.add(Clips(), id="clip")
    with pytest.raises(PluginError) as caught:
        trainer.train(0, 3)
    assert "hook 'clip' (module " in str(caught.value)
    assert "changes weights or gradients in after_backward" in str(caught.value)
    assert "remove observer = True" in str(caught.value)


def test_an_observer_may_read_them_and_another_hook_may_change_them():
    class Looks:
        observer = True
        norm = 0.0

        @hookimpl
        def after_backward(self, trainer):
            self.norm = trainer.model.weight.grad.norm().item()

    class Clips:
        @hookimpl
        def after_backward(self, trainer):
            doubles(trainer)

    trainer, looks = Model(), Looks()
    trainer.hooks.bind(trainer)
    trainer.hooks.extend([("look", looks), ("clip", Clips())])
    assert trainer.train(0, 3).status == "completed"
    assert looks.norm > 0


def decides_the_step():
    class Hook:
        observer = True

        @hookimpl
        def run_step(self, trainer, batch):
            pass

    return Hook()


def decides_the_end():
    class Hook:
        observer = True

        @hookimpl
        def should_stop(self):
            pass

    return Hook()


def wraps():
    class Hook:
        observer = True

        @hookimpl(wrapper=True)
        def after_step(self):
            return (yield)

    return Hook()


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (decides_the_step, "implements run_step"),
        (decides_the_end, "implements should_stop"),
        (wraps, "wraps after_step"),
    ],
)
def test_what_a_run_depends_on_is_no_observers_business(make, what):
    with pytest.raises(PluginError, match=f"says that it is an observer and {what}"):
        HookManager().add(make())
