from __future__ import annotations

import multiprocessing

import pytest
import torch

from reid_core.checkpoint.weights import read_state_dict
from reid_core.engine import Interrupted
from reid_core.errors import ConfigError
from reid_core.hookspecs import hookimpl
from reid_plugin_hooks.precise_bn import PreciseBn

HOOK = {"name": "precise_bn", "batches": 6}
STATISTICS = ("running_mean", "running_var")


class Before:
    """Keeps the state of the model as it is before each evaluation."""

    def __init__(self):
        self.states = []

    @hookimpl(tryfirst=True)
    def before_eval(self, trainer):
        state = trainer.model.state_dict()
        self.states.append({name: value.clone() for name, value in state.items()})


class Stop:
    @hookimpl
    def should_stop(self, step):
        return "enough" if step == 5 else None


def slow_statistics(trainer, batches):
    """Return mean and variance of the tiny model's norm, averaged over the coming batches."""
    loader, means, variances = trainer.build_train_loader(), [], []
    epoch = trainer.iter // len(loader)
    while len(means) < batches:
        for batch in loader.epoch(epoch):
            with torch.no_grad():
                maps = trainer.model.backbone.conv(batch.images).transpose(0, 1).flatten(1)
            means.append(maps.mean(dim=1))
            variances.append(maps.var(dim=1, unbiased=True))
        epoch += 1
    return sum(means[:batches]) / batches, sum(variances[:batches]) / batches


def test_the_end_of_a_run_has_precise_statistics_in_evaluation_and_files(tiny, tmp_path):
    trainer, seen = tiny(HOOK), Before()
    trainer.register_hooks([seen])
    trainer.run()
    norm = trainer.model.backbone.norm
    mean, variance = slow_statistics(trainer, 6)
    torch.testing.assert_close(norm.running_mean, mean, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(norm.running_var, variance, rtol=1e-4, atol=1e-6)
    assert torch.equal(seen.states[-1]["backbone.norm.running_mean"], norm.running_mean)
    saved = read_state_dict(tmp_path / "run/weights/last.safetensors")
    assert torch.equal(saved["backbone.norm.running_mean"], norm.running_mean)


@pytest.mark.parametrize("when", ["end", "evaluation"])
def test_training_is_bitwise_the_one_without_the_hook(tiny, require_equal, when):
    plain, other = tiny(run="plain").run(), tiny({**HOOK, "when": when}).run()
    require_equal(plain.model.state_dict(), other.model.state_dict(), but=STATISTICS)
    assert not torch.equal(
        plain.model.backbone.norm.running_mean, other.model.backbone.norm.running_mean
    )
    optimizer = plain.optimizer.state_dict()["state"], other.optimizer.state_dict()["state"]
    for number, state in optimizer[0].items():
        require_equal(state, optimizer[1][number])


def test_before_the_end_nothing_at_all_is_different(tiny, require_equal):
    seen = []
    for hooks in ([], [HOOK]):
        trainer, before = tiny(*hooks, run=f"run{len(hooks)}"), Before()
        trainer.register_hooks([before])
        trainer.run()
        seen.append(before.states)
    assert len(seen[0]) == 2
    require_equal(seen[0][0], seen[1][0])


def test_before_each_evaluation_if_that_is_wanted_but_not_of_the_untrained_model(tiny):
    trainer, seen = tiny({**HOOK, "when": "evaluation"}, evaluate__at_start=True), Before()

    class Check:
        @hookimpl
        def after_eval(self, trainer):
            mean, _ = slow_statistics(trainer, 6)
            norm = trainer.model.backbone.norm
            if trainer.iter > 0:
                torch.testing.assert_close(norm.running_mean, mean, rtol=1e-4, atol=1e-6)
            else:
                assert not norm.running_mean.any()

    trainer.register_hooks([seen, Check()])
    trainer.run()
    assert len(seen.states) == 3


@pytest.mark.parametrize("until", [4, 7])
def test_a_resumed_run_ends_as_the_whole_one(tiny, require_equal, until):
    hook = {**HOOK, "when": "evaluation"}
    whole = tiny(hook, run="whole").run()
    tiny(hook).run(until=until)
    resumed = tiny(hook).run()
    require_equal(whole.model.state_dict(), resumed.model.state_dict())
    assert whole.results.latest() == resumed.results.latest()


def test_what_is_evaluated_in_place_of_the_model_is_estimated(tiny):
    trainer = tiny({"name": "ema"}, HOOK).run()
    average, plain = trainer.eval_model.backbone.norm, trainer.model.backbone.norm
    untouched = tiny(run="plain").run().model.backbone.norm
    assert torch.equal(plain.running_mean, untouched.running_mean)
    assert not torch.equal(average.running_mean, plain.running_mean)
    assert average.num_batches_tracked == 8


def test_worker_processes_give_the_same_and_are_gone_afterwards(tiny, require_equal):
    hook = {**HOOK, "when": "evaluation"}
    here = tiny(hook, run="here").run()
    before = len(multiprocessing.active_children())
    there = tiny(hook, data__workers=2)
    seen = []

    class Count:
        @hookimpl(trylast=True)
        def before_eval(self):
            seen.append(len(multiprocessing.active_children()) - before)

    there.register_hooks([Count()])
    there.run()
    require_equal(here.model.state_dict(), there.model.state_dict())
    assert set(seen) <= {1, 2}, "those that the run itself keeps"


def test_a_run_that_is_stopped_in_an_epoch_is_estimated_before_it_is_evaluated(tiny):
    trainer = tiny(HOOK)
    trainer.register_hooks([Stop()])
    trainer.run()
    assert trainer.iter == 6
    mean, _ = slow_statistics(trainer, 6)
    torch.testing.assert_close(trainer.model.backbone.norm.running_mean, mean, rtol=1e-4, atol=1e-6)


def test_an_interruption_of_the_last_estimate_is_made_up_for(tiny, require_equal):
    whole = tiny(HOOK, run="whole").run()

    class Interrupt:
        @hookimpl(tryfirst=True)
        def after_epoch(self, trainer, epoch):
            if epoch == 1:
                trainer.request_stop(15)

    trainer = tiny(HOOK)
    trainer.register_hooks([Interrupt()])
    with pytest.raises(Interrupted):
        trainer.run()
    assert trainer.iter == 8
    assert trainer.hook("precise_bn").state_dict() == {"step": -1}
    resumed = tiny(HOOK).run()
    require_equal(whole.model.state_dict(), resumed.model.state_dict())
    assert whole.results.latest() == resumed.results.latest()


def test_a_number_of_batches_below_one_is_refused():
    with pytest.raises(ConfigError, match="batches is 0; expected at least 1"):
        PreciseBn(batches=0)
