from __future__ import annotations

import pytest
import torch

from reid_core.engine import (
    CallbackHook,
    HookBase,
    Outcome,
    StepResult,
    TrainerBase,
    get_event_storage,
)
from reid_core.errors import Interrupted
from reid_core.hookspecs import hookimpl


class CountingTrainer(TrainerBase):
    def __init__(self, iters_per_epoch=3):
        super().__init__(iters_per_epoch=iters_per_epoch)
        self.steps = []

    def run_step(self, batch):
        self.steps.append(self.iter)
        return StepResult(torch.tensor(1.0))


class Recorder(HookBase):
    def __init__(self, calls, name):
        self.calls, self.name = calls, name

    def before_train(self):
        self.calls.append((self.name, "before_train", self.trainer.iter))

    def before_epoch(self):
        self.calls.append((self.name, "before_epoch", self.trainer.epoch))

    def before_step(self):
        self.calls.append((self.name, "before_step", self.trainer.iter))

    def after_step(self):
        self.calls.append((self.name, "after_step", self.trainer.iter))

    def after_epoch(self):
        self.calls.append((self.name, "after_epoch", self.trainer.iter))

    def after_train(self):
        self.calls.append((self.name, "after_train", self.trainer.iter))


class RaisesIn:
    def __init__(self, hook, error):
        self.hook, self.error = hook, error

    @hookimpl
    def before_train(self):
        self._maybe("before_train")

    @hookimpl
    def after_step(self, step):
        if step == 1:
            self._maybe("after_step")

    @hookimpl
    def on_exception(self):
        self._maybe("on_exception")

    @hookimpl
    def after_train(self):
        self._maybe("after_train")

    def _maybe(self, hook):
        if hook == self.hook:
            raise self.error


class OutcomeRecorder:
    def __init__(self):
        self.outcomes, self.exceptions = [], []

    @hookimpl
    def on_exception(self, exception):
        self.exceptions.append(exception)

    @hookimpl
    def after_train(self, outcome):
        self.outcomes.append(outcome)


def test_the_seeds_order_of_calls_is_kept():
    trainer, calls = CountingTrainer(iters_per_epoch=2), []
    trainer.register_hooks([Recorder(calls, "h")])
    trainer.train(0, 4)
    assert [(hook, value) for _, hook, value in calls] == [
        ("before_train", 0),
        ("before_epoch", 0),
        ("before_step", 0),
        ("after_step", 0),
        ("before_step", 1),
        ("after_step", 1),
        ("after_epoch", 2),
        ("before_epoch", 1),
        ("before_step", 2),
        ("after_step", 2),
        ("before_step", 3),
        ("after_step", 3),
        ("after_epoch", 4),
        ("after_train", 4),
    ]


def test_hooks_run_in_the_order_of_the_list_also_over_several_lists():
    trainer, calls = CountingTrainer(), []
    trainer.register_hooks([Recorder(calls, "a"), None, Recorder(calls, "b")])
    trainer.register_hooks([Recorder(calls, "c")])
    trainer.train(0, 1)
    for hook in ("before_train", "before_step", "after_step", "after_train"):
        assert [name for name, called, _ in calls if called == hook] == ["a", "b", "c"]


def test_start_iter_begins_in_the_middle_of_an_epoch():
    trainer = CountingTrainer(iters_per_epoch=3)
    calls = []
    trainer.register_hooks([Recorder(calls, "h")])
    trainer.train(4, 7)
    assert trainer.steps == [4, 5, 6]
    epochs = [value for _, hook, value in calls if hook == "before_epoch"]
    assert epochs == [1, 2]
    assert trainer.max_epoch == 3


def test_a_finished_run_ends_cleanly_when_it_is_resumed():
    trainer, recorder = CountingTrainer(), OutcomeRecorder()
    trainer.register_hooks([recorder])
    assert trainer.train(6, 6).status == "completed"
    assert trainer.steps == []
    assert trainer.epoch == 2
    assert [o.status for o in recorder.outcomes] == ["completed"]


@pytest.mark.parametrize("place", ["before_train", "after_step"])
def test_the_original_exception_surfaces_even_when_teardown_fails_too(place):
    trainer, recorder = CountingTrainer(), OutcomeRecorder()
    original = ValueError("the cause")
    trainer.register_hooks(
        [
            RaisesIn("on_exception", RuntimeError("in on_exception")),
            RaisesIn("after_train", RuntimeError("in after_train")),
            recorder,
            RaisesIn(place, original),
        ]
    )
    with pytest.raises(ValueError, match="the cause") as caught:
        trainer.train(0, 3)
    assert caught.value is original
    assert [type(e) for e in recorder.exceptions] == [ValueError]
    assert [o.status for o in recorder.outcomes] == ["failed"]
    assert recorder.outcomes[0].exception is original
    assert any("in after_train" in note for note in original.__notes__)


def test_an_error_in_after_train_alone_surfaces():
    trainer, recorder = CountingTrainer(), OutcomeRecorder()
    trainer.register_hooks([RaisesIn("after_train", RuntimeError("teardown")), recorder])
    with pytest.raises(RuntimeError, match="teardown"):
        trainer.train(0, 1)
    assert len(recorder.outcomes) == 1, "the hooks after the failing one still ran"


def test_after_train_runs_once_with_the_outcome_completed():
    trainer, recorder = CountingTrainer(), OutcomeRecorder()
    trainer.register_hooks([recorder])
    trainer.train(0, 2)
    assert recorder.outcomes == [Outcome("completed")]
    assert recorder.exceptions == []


def test_should_stop_ends_training_with_its_reason():
    class Stopper:
        @hookimpl
        def should_stop(self, step):
            return "enough" if step == 1 else None

    trainer, recorder = CountingTrainer(), OutcomeRecorder()
    trainer.register_hooks([Stopper(), recorder])
    outcome = trainer.train(0, 9)
    assert outcome == Outcome("stopped", "enough")
    assert trainer.steps == [0, 1]
    assert trainer.iter == 2
    assert recorder.outcomes == [outcome]


def test_a_run_that_was_stopped_does_not_train_when_it_is_resumed():
    class Stopper:
        @hookimpl
        def should_stop(self):
            return "still enough"

    trainer = CountingTrainer()
    trainer.register_hooks([Stopper()])
    assert trainer.train(3, 9).status == "stopped"
    assert trainer.steps == []


def test_a_requested_stop_leaves_between_two_steps():
    class Kill:
        @hookimpl
        def after_step(self, trainer, step):
            if step == 1:
                trainer.request_stop(15)

    trainer, recorder = CountingTrainer(), OutcomeRecorder()
    trainer.register_hooks([Kill(), recorder])
    with pytest.raises(Interrupted) as caught:
        trainer.train(0, 9)
    assert caught.value.status_code == 143
    assert trainer.steps == [0, 1]
    assert trainer.iter == 2
    assert recorder.outcomes[0].status == "interrupted"


def test_a_stop_at_the_end_of_an_epoch_waits_for_after_epoch():
    class Kill:
        @hookimpl
        def after_step(self, trainer, step):
            if step == 2:
                trainer.request_stop(15)

    trainer, calls = CountingTrainer(iters_per_epoch=3), []
    trainer.register_hooks([Kill(), Recorder(calls, "h")])
    with pytest.raises(Interrupted):
        trainer.train(0, 9)
    assert ("h", "after_epoch", 3) in calls


def test_ctrl_c_counts_as_interrupted():
    trainer, recorder = CountingTrainer(), OutcomeRecorder()
    trainer.register_hooks([RaisesIn("after_step", KeyboardInterrupt()), recorder])
    with pytest.raises(KeyboardInterrupt):
        trainer.train(0, 3)
    assert recorder.outcomes[0].status == "interrupted"


def test_run_step_can_be_replaced_and_wrapped():
    seen = []

    class Wrapper:
        @hookimpl(wrapper=True)
        def run_step(self, step):
            seen.append(("before", step))
            result = yield
            seen.append(("after", float(result.loss)))
            return result

    class Replacement:
        @hookimpl
        def run_step(self):
            return StepResult(torch.tensor(7.0))

    trainer = CountingTrainer()
    trainer.register_hooks([Wrapper(), Replacement()])
    trainer.train(0, 1)
    assert trainer.steps == [], "the trainer's own step was replaced"
    assert seen == [("before", 0), ("after", 7.0)]


def test_the_storage_is_open_during_training_and_closed_after_it():
    class Puts:
        @hookimpl
        def after_step(self, step):
            get_event_storage().put_scalar("x", step)

    trainer = CountingTrainer()
    trainer.register_hooks([Puts()])
    trainer.train(0, 3)
    assert trainer.storage.history("x").values() == [(0, 0.0), (1, 1.0), (2, 2.0)]
    with pytest.raises(LookupError, match="no EventStorage is open"):
        get_event_storage()


def test_a_hook_does_not_keep_the_trainer_alive():
    import gc
    import weakref

    hook = Recorder([], "h")
    trainer = CountingTrainer()
    trainer.register_hooks([hook])
    reference = weakref.ref(trainer)
    del trainer
    gc.collect()
    assert reference() is None


def test_teardown_reaches_every_hook_also_when_one_exits():
    trainer, recorder = CountingTrainer(), OutcomeRecorder()
    trainer.register_hooks(
        [
            RaisesIn("on_exception", KeyboardInterrupt()),
            RaisesIn("after_train", SystemExit(0)),
            recorder,
            RaisesIn("after_step", ValueError("the cause")),
        ]
    )
    with pytest.raises(ValueError, match="the cause"):
        trainer.train(0, 3)
    assert [o.status for o in recorder.outcomes] == ["failed"]


def test_the_epoch_is_the_running_one_until_training_is_over():
    epochs = []

    class Epochs(HookBase):
        def after_epoch(self):
            epochs.append(self.trainer.epoch)

        def after_train(self):
            epochs.append(self.trainer.epoch)

    trainer = CountingTrainer(iters_per_epoch=2)
    trainer.register_hooks([Epochs()])
    trainer.train(0, 6)
    assert epochs == [0, 1, 2, 2]


def test_a_stop_at_the_end_of_an_epoch_comes_after_after_epoch():
    class Stopper:
        @hookimpl
        def should_stop(self, step):
            return "enough" if step == 2 else None

    trainer, calls = CountingTrainer(iters_per_epoch=3), []
    trainer.register_hooks([Stopper(), Recorder(calls, "h")])
    assert trainer.train(0, 9).reason == "enough"
    assert ("h", "after_epoch", 3) in calls


def test_an_interrupted_trainer_can_train_on():
    class Kill:
        @hookimpl
        def after_step(self, trainer, step):
            if step == 1:
                trainer.request_stop(15)

    trainer = CountingTrainer()
    trainer.register_hooks([Kill()])
    with pytest.raises(Interrupted):
        trainer.train(0, 4)
    trainer.train(trainer.iter, 4)
    assert trainer.steps == [0, 1, 2, 3]


def test_a_hook_made_of_functions_calls_them_with_the_trainer_and_lets_them_go():
    seen, trainer = [], CountingTrainer(iters_per_epoch=2)

    def note(name):
        return lambda trainer: seen.append((name, trainer.iter, trainer.storage.epoch))

    hook = CallbackHook(before_epoch=note("before_epoch"), after_train=note("after_train"))
    trainer.register_hooks([hook])
    trainer.train(0, 4)
    assert seen == [("before_epoch", 0, 0), ("before_epoch", 2, 1), ("after_train", 4, 1)]
    assert hook._callbacks == {}


def test_a_hook_added_one_by_one_has_its_trainer_too():
    calls, trainer = [], CountingTrainer()
    trainer.register_hooks([])
    trainer.hooks.add(Recorder(calls, "late"))
    trainer.train(0, 1)
    assert calls
