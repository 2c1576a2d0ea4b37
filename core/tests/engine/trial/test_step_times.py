"""The parts of a step add up to it, and each of them is where its time is spent."""

import pytest

from reid_core.engine import DefaultTrainer
from reid_core.engine.trial import step_times as module
from reid_core.engine.trial.step_times import PARTS, StepTimes
from reid_core.hookspecs import hookimpl


@pytest.fixture
def clock(monkeypatch):
    """A clock that only moves when it is told to."""

    class Clock:
        now = 0.0

        def perf_counter(self):
            return self.now

    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def test_each_part_of_a_step_is_measured(tiny_config, clock):
    trainer = DefaultTrainer(tiny_config)
    batches = trainer.data_loader.epoch

    class Slow:
        """Takes 1 s in ``before_step``, 2 s in ``after_backward``, 4 s in ``after_step``."""

        @hookimpl
        def before_step(self):
            clock.now += 1

        @hookimpl
        def after_backward(self):
            clock.now += 2

        @hookimpl
        def after_step(self):
            clock.now += 4

    class Loader:
        def __len__(self):
            return 4

        def epoch(self, epoch, start=0):
            for batch in batches(epoch, start):
                clock.now += 8
                yield batch

    def takes(seconds):
        def wait(*_):
            clock.now += seconds

        return wait

    trainer.data_loader = Loader()
    times = StepTimes(first=1, last=2)
    trainer.hooks.add(Slow())
    trainer.hooks.add(times)
    trainer.hooks.add(_Evaluation(clock))
    trainer.model.backbone.register_forward_hook(takes(16))
    trainer.model.backbone.conv.weight.register_hook(takes(32))
    trainer.optimizer.register_step_post_hook(takes(64))
    trainer.train(max_iter=8)
    assert times.num_steps == 2
    per_step = {name: spent / 2 for name, spent in times.seconds.items()}
    assert per_step == {"data": 8, "forward": 16, "backward": 32, "update": 64, "hooks": 7}
    heading, *rows = times.lines()
    assert heading == (
        "where the time of a step goes (mean of 2 steps, which is few: epochs are short, "
        "milliseconds)"
    )
    times.num_steps = 5
    assert times.lines()[0] == "where the time of a step goes (mean of 5 steps, milliseconds)"
    assert rows[1] == "  forward    16000.00  12.6%  the model and its losses"
    assert [row.split()[0] for row in rows] == [*PARTS, "step"]
    assert not trainer.model._forward_hooks
    assert not trainer.model._forward_pre_hooks


class _Evaluation:
    """Takes long between epochs; no step has anything to do with it."""

    def __init__(self, clock):
        self._clock = clock

    @hookimpl
    def before_epoch(self):
        self._clock.now += 1000


def test_without_a_measured_step_there_is_nothing_to_say():
    assert StepTimes(first=1, last=3).lines() == []
