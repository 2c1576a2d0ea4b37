from __future__ import annotations

import logging

import pytest
import torch

from reid_core.engine import HookManager, StepResult, TrainerBase
from reid_core.engine.hook_base import HookBase
from reid_core.engine.outcome import Interrupted
from reid_core.errors import PluginError
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
