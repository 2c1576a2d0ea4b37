"""When a hook fails the state is saved beside the checkpoints; when training fails it is not."""

from __future__ import annotations

import pytest
import torch

from reid_core.config import load_config
from reid_core.engine import DefaultTrainer
from reid_core.hookspecs import hookimpl


class FailsIn:
    """Raises in one hook at the sixth step (index 5)."""

    def __init__(self, hook):
        # A new one each time: an exception collects the tracebacks of all its travels.
        self.hook, self.error = hook, RuntimeError("the hook is broken")

    def _maybe(self, hook, step):
        if hook == self.hook and step == 5:
            raise self.error

    @hookimpl
    def before_step(self, step):
        self._maybe("before_step", step)

    @hookimpl(wrapper=True)
    def run_step(self, step):
        result = yield
        self._maybe("run_step", step)
        return result

    @hookimpl
    def after_backward(self, step):
        self._maybe("after_backward", step)

    @hookimpl(tryfirst=True)
    def after_step(self, step):
        self._maybe("after_step", step)

    @hookimpl
    def on_log(self, step):
        self._maybe("on_log", step - 1)


def fail(config, hook):
    """Train until the hook fails; return the trainer and the error."""
    trainer = DefaultTrainer(config)
    trainer.resume_or_load()
    trainer.register_hooks([hook])
    with pytest.raises(type(hook.error)) as caught:
        trainer.train()
    return trainer, caught.value


def emergency(trainer):
    return trainer.folder.path / "checkpoints" / "emergency.pt"


@pytest.mark.parametrize(
    ("hook", "step"),
    [("before_step", 5), ("after_step", 6), ("on_log", 6)],
)
def test_the_state_is_saved_with_the_steps_that_are_in_the_weights(hook, step, tiny_config):
    trainer, error = fail(tiny_config, FailsIn(hook))
    state = torch.load(emergency(trainer), weights_only=True)
    assert state["step"] == step
    assert state["sampler"] == {"epoch": 1, "batch": step - 4}
    for name, value in trainer.model.state_dict().items():
        assert torch.equal(value, state["model"][name]), name
    notes = " ".join(error.__notes__)
    assert f"the state after step {step} is saved" in notes
    assert f"--resume {emergency(trainer)}" in notes


def test_a_run_goes_on_from_it_where_it_was(tiny_config):
    trainer, _ = fail(tiny_config, FailsIn("after_step"))
    resumed = DefaultTrainer(tiny_config)
    resumed.resume_or_load(emergency(trainer))
    assert resumed.start_iter == 6
    assert resumed.train().status == "completed"
    assert resumed.iter == 16


def test_it_is_the_state_of_a_run_that_did_not_fail(tiny_config, tiny_recipe, tmp_path):
    failed, _ = fail(tiny_config, FailsIn("after_step"))
    whole = DefaultTrainer(load_config(tiny_recipe, {"output": str(tmp_path / "whole")}))
    kept = {}

    class Keep:
        @hookimpl
        def before_step(self, trainer, step):
            if step == 6:
                kept.update({k: v.clone() for k, v in trainer.model.state_dict().items()})

    whole.register_hooks([Keep()])
    whole.train()
    state = torch.load(emergency(failed), weights_only=True)
    assert all(torch.equal(value, state["model"][name]) for name, value in kept.items())


def test_a_plain_resume_takes_the_last_regular_checkpoint(tiny_config):
    fail(tiny_config, FailsIn("after_step"))
    resumed = DefaultTrainer(tiny_config)
    resumed.resume_or_load("auto")
    assert resumed.start_iter == 4


@pytest.mark.parametrize("hook", ["run_step", "after_backward"])
def test_inside_of_a_step_nothing_is_saved(hook, tiny_config):
    trainer, error = fail(tiny_config, FailsIn(hook))
    assert not emergency(trainer).exists()
    assert all("is saved" not in note for note in error.__notes__)


def test_what_the_training_itself_raises_saves_nothing(tiny_config):
    trainer = DefaultTrainer(tiny_config)

    def broken(batch):
        raise RuntimeError("out of memory")

    trainer.forward = broken
    with pytest.raises(RuntimeError, match="out of memory"):
        trainer.train()
    assert not emergency(trainer).exists()


def test_weights_that_are_not_finite_are_not_saved(tiny_config):
    class Poisons(FailsIn):
        @hookimpl
        def after_step(self, trainer, step):
            if step == 5:
                with torch.no_grad():
                    trainer.model.head.classifier.weight.fill_(float("inf"))
                raise self.error

    trainer, _ = fail(tiny_config, Poisons("none"))
    assert not emergency(trainer).exists()


def test_a_hook_that_cannot_even_give_its_state_is_left_out(tiny_config, caplog):
    class Broken(FailsIn):
        def state_dict(self):
            if hasattr(self, "average"):
                return {}
            raise AttributeError("average")

        def load_state_dict(self, state):
            pass

        @hookimpl
        def before_epoch(self):
            self.average = 1

        @hookimpl
        def before_step(self, step):
            if step == 5:
                del self.average
                raise self.error

    trainer, _ = fail(tiny_config, Broken("none"))
    assert "Broken" not in torch.load(emergency(trainer), weights_only=True)["hooks"]
    assert "hook 'Broken': its state is not saved: AttributeError('average')" in caplog.text


def test_nothing_is_saved_twice(tiny_config):
    class AfterEpoch(FailsIn):
        @hookimpl(trylast=True)
        def after_epoch(self, epoch):
            raise self.error

    trainer, _ = fail(tiny_config, AfterEpoch("none"))
    assert not emergency(trainer).exists(), "step 4 has a checkpoint of its own already"
    assert [p.name for p in trainer.folder.checkpoints.paths()] == ["step_00000004.pt"]


def test_the_first_step_has_nothing_to_lose(tiny_config):
    class AtOnce(FailsIn):
        @hookimpl
        def before_train(self):
            raise self.error

    trainer, _ = fail(tiny_config, AtOnce("none"))
    assert not emergency(trainer).exists()


def test_a_failing_checkpoint_is_not_tried_again(tiny_config, monkeypatch):
    calls = []

    def full(self, state, step, *, same_as=None):
        calls.append(step)
        raise OSError("no space left on device")

    monkeypatch.setattr("reid_core.checkpoint.folder.CheckpointFolder.save", full)
    trainer = DefaultTrainer(tiny_config)
    with pytest.raises(OSError, match="no space left"):
        trainer.train()
    assert calls == [4]
    assert not emergency(trainer).exists()
