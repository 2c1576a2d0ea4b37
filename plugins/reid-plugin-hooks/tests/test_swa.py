from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from reid_core.checkpoint.weights import read_state_dict
from reid_core.engine import Interrupted, StepResult
from reid_core.errors import ConfigError
from reid_core.hookspecs import hookimpl
from reid_plugin_hooks.batch_statistics import estimate_statistics
from reid_plugin_hooks.ema import Ema
from reid_plugin_hooks.swa import Swa

BUFFERS = ("running_mean", "running_var", "num_batches_tracked")


class Snapshots:
    """Keeps the weights after each step."""

    def __init__(self):
        self.after = {}
        self.evaluated = []

    @hookimpl
    def after_step(self, trainer, step):
        state = trainer.model.state_dict()
        self.after[step + 1] = {name: value.clone() for name, value in state.items()}

    @hookimpl
    def before_eval(self, trainer):
        self.evaluated.append(trainer.eval_model is trainer.model)


class Skip:
    """Says of some steps that their update was skipped."""

    def __init__(self, *steps):
        self._steps = steps

    @hookimpl(wrapper=True)
    def run_step(self, trainer, step):
        before = {name: value.clone() for name, value in trainer.model.state_dict().items()}
        result = yield
        if step in self._steps:
            trainer.model.load_state_dict(before)
            result = StepResult(result.loss, is_skipped=True)
        return result


def swa(**parameters):
    return {"name": "swa", "start_epoch": 1, "update_bn": 3, **parameters}


def run(trainer, *hooks):
    seen = Snapshots()
    trainer.register_hooks([seen, *hooks])
    trainer.run()
    return seen


def require_mean(trainer, states):
    for name, value in trainer.eval_model.state_dict().items():
        if not name.endswith(BUFFERS):
            mean = sum(state[name].double() for state in states) / len(states)
            torch.testing.assert_close(value.double(), mean, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("parameters", "steps"),
    [
        ({"start_epoch": 0}, [4, 8]),
        ({"start_epoch": 1}, [8]),
        ({"start_epoch": 0, "every": 3}, [3, 6]),
        ({"start_epoch": 1, "every": 1}, [5, 6, 7, 8]),
    ],
)
def test_the_average_is_the_mean_of_the_snapshots(tiny, parameters, steps):
    trainer = tiny(swa(**parameters))
    seen = run(trainer)
    require_mean(trainer, [seen.after[step] for step in steps])
    assert trainer.hook("swa").state_dict()["snapshots"] == len(steps)


def test_training_is_bitwise_the_one_without_the_hook(tiny, require_equal):
    plain, other = tiny(run="plain").run(), tiny(swa(start_epoch=0)).run()
    require_equal(plain.model.state_dict(), other.model.state_dict())


def test_the_average_is_evaluated_and_exported_from_the_first_snapshot_on(tiny, tmp_path):
    trainer = tiny(swa(start_epoch=1))
    seen = run(trainer)
    assert seen.evaluated == [True, False]
    assert trainer.eval_model is not trainer.model
    saved = read_state_dict(tmp_path / "run/weights/last.safetensors")
    for name, value in trainer.eval_model.state_dict().items():
        assert torch.equal(saved[name], value), name


def test_its_statistics_are_estimated_for_its_weights(tiny):
    trainer = tiny(swa(start_epoch=0, every=1)).run()
    norm = trainer.eval_model.backbone.norm
    before = norm.running_mean.clone(), norm.running_var.clone()
    estimate_statistics(trainer, trainer.eval_model, batches=3)
    assert torch.equal(before[0], norm.running_mean)
    assert torch.equal(before[1], norm.running_var)
    assert not torch.allclose(norm.running_mean, trainer.model.backbone.norm.running_mean)


def test_without_batches_they_are_those_of_the_newest_snapshot(tiny):
    trainer = tiny(swa(start_epoch=0, update_bn=0))
    seen = run(trainer)
    norm = trainer.eval_model.backbone.norm
    assert torch.equal(norm.running_mean, seen.after[8]["backbone.norm.running_mean"])


def test_files_of_an_epoch_without_evaluation_have_them_too(tiny, tmp_path):
    trainer = tiny(swa(start_epoch=0), evaluate__every=0).run()
    saved = read_state_dict(tmp_path / "run/weights/last.safetensors")
    norm = trainer.eval_model.backbone.norm
    assert torch.equal(saved["backbone.norm.running_mean"], norm.running_mean)
    assert not torch.allclose(norm.running_mean, trainer.model.backbone.norm.running_mean)


def test_skipped_steps_do_not_count(tiny):  # B118
    trainer = tiny(swa(start_epoch=0, every=2))
    seen = run(trainer, Skip(1, 4, 5))
    require_mean(trainer, [seen.after[step] for step in (3, 7)])
    assert trainer.hook("swa").state_dict() | {"average": None} == {
        "average": None, "snapshots": 2, "updates": 1, "has_old_statistics": False,
    }  # fmt: skip


def test_an_epoch_of_skipped_steps_brings_no_snapshot(tiny):
    trainer = tiny(swa(start_epoch=0))
    seen = run(trainer, Skip(4, 5, 6, 7))
    require_mean(trainer, [seen.after[4]])
    assert trainer.hook("swa").state_dict()["snapshots"] == 1


@pytest.mark.parametrize(
    ("parameters", "until"),
    [
        ({"start_epoch": 0}, 2),
        ({"start_epoch": 0}, 4),
        ({"start_epoch": 0, "every": 3}, 5),
        ({"start_epoch": 0, "every": 3}, 7),
    ],
)
def test_a_resumed_run_ends_as_the_whole_one(tiny, require_equal, parameters, until):
    whole = tiny(swa(**parameters), run="whole").run()
    tiny(swa(**parameters)).run(until=until)
    resumed = tiny(swa(**parameters)).run()
    require_equal(whole.model.state_dict(), resumed.model.state_dict())
    require_equal(whole.eval_model.state_dict(), resumed.eval_model.state_dict())
    assert whole.results.latest() == resumed.results.latest()


def test_an_interruption_of_the_last_estimate_is_made_up_for(tiny, require_equal):
    whole = tiny(swa(), run="whole", evaluate__every=0).run()

    class Interrupt:
        @hookimpl(tryfirst=True)
        def after_epoch(self, trainer, epoch):
            if epoch == 1:
                trainer.request_stop(15)

    trainer = tiny(swa(), evaluate__every=0)
    trainer.register_hooks([Interrupt()])
    with pytest.raises(Interrupted):
        trainer.run()
    assert trainer.hook("swa").state_dict()["has_old_statistics"]
    resumed = tiny(swa(), evaluate__every=0).run()
    require_equal(whole.eval_model.state_dict(), resumed.eval_model.state_dict())


def test_a_run_that_is_stopped_in_an_epoch_has_them_too(tiny):
    class Stop:
        @hookimpl
        def should_stop(self, step):
            return "enough" if step == 5 else None

    trainer = tiny(swa(start_epoch=0, every=3))
    run(trainer, Stop())
    norm = trainer.eval_model.backbone.norm
    before = norm.running_mean.clone()
    estimate_statistics(trainer, trainer.eval_model, batches=3)
    assert torch.equal(before, norm.running_mean)


def test_a_state_that_was_loaded_is_kept_until_the_model_is_there():
    hook, state = Swa(start_epoch=0), {"snapshots": 1}
    assert hook.state_dict() == {}
    hook.load_state_dict(state)
    assert hook.state_dict() is state


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"name": "ema"}, "hook ema beside swa: both put an average"),
        ({"name": "reid-plugin-hooks/ema"}, "hook ema beside swa: both put an average"),
        ({"name": "precise_bn"}, "hook precise_bn beside swa: swa estimates the batch"),
        ({**swa(), "id": "second"}, "hook swa beside swa: the second average"),
    ],
)
def test_hooks_that_do_the_same_are_refused_before_anything_is_read(tiny, other, why):
    with pytest.raises(ConfigError, match=f"hooks.1: {why}.*leave one out"):
        tiny(swa(), other)


def test_another_evaluated_model_is_refused_before_the_first_step(tiny):
    trainer = tiny(swa())
    trainer.register_hooks([Ema()])
    with pytest.raises(ConfigError, match="another hook has put a model of its own"):
        trainer.run()
    assert trainer.iter == 0


def test_a_start_after_the_end_is_refused(tiny):
    with pytest.raises(ConfigError, match="starts in epoch 2, counted from 0, of 2"):
        tiny(swa(start_epoch=2))


def test_a_run_without_a_snapshot_says_so(tiny, caplog):
    run(tiny(swa(start_epoch=0, every=9)))
    assert "over before the first snapshot" in caplog.text


@pytest.mark.parametrize("wrong", [{"start_epoch": -1}, {"update_bn": -1}, {"every": 0}])
def test_numbers_outside_their_range_are_refused(wrong):
    with pytest.raises(ConfigError, match=r"hook swa: .* is"):
        Swa(**{"start_epoch": 0, **wrong})


def test_a_word_other_than_epoch_is_refused(tiny):
    with pytest.raises(ConfigError, match="every"):
        tiny(swa(every="step"))


def test_nothing_is_warned_of_when_the_start_fails():
    outcome = SimpleNamespace(status="failed")
    Swa(start_epoch=0).after_train(SimpleNamespace(), outcome)


def test_a_state_is_taken_back_in_a_run_that_goes_on(tiny):
    trainer = tiny(swa(start_epoch=0))
    trainer.run()
    hook = trainer.hook("swa")
    assert hook.state_dict()["snapshots"] > 1
    one = {name: torch.ones_like(value) for name, value in hook.state_dict()["average"].items()}
    hook.load_state_dict(
        {"average": one, "snapshots": 1, "updates": 2, "has_old_statistics": False}
    )
    state = hook.state_dict()
    assert (state["snapshots"], state["updates"]) == (1, 2)
    assert all(torch.equal(value, one[name]) for name, value in state["average"].items())
