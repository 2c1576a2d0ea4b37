from __future__ import annotations

import logging
import re

import pytest
import torch

from reid_core.engine import HookBase, StepResult, TrainerBase
from reid_core.hookspecs import hookimpl


class Trainer(TrainerBase):
    def run_step(self, batch):
        return StepResult(torch.tensor(1.0))


class Around:
    @hookimpl(wrapper=True)
    def run_step(self):
        return (yield)


class Inner(HookBase):
    def after_step(self):
        self.trainer.hooks.on_log(trainer=self.trainer, step=1, scalars={})


class Log:
    @hookimpl
    def on_log(self, scalars):
        pass


@pytest.fixture
def traced(caplog):
    caplog.set_level(logging.INFO, "reid_core")
    trainer = Trainer()
    trainer.register_hooks([Around(), Inner(), Log()])
    trace = trainer.hooks.trace()
    trainer.train(0, 2)
    return trace, [record.message for record in caplog.records]


def test_every_call_is_a_line_in_the_order_in_which_it_ended(traced):
    _, lines = traced
    step = [re.sub(r"\s+", " ", re.sub(r"[\d.]+ ms", "", line)).strip() for line in lines]
    calls = [
        "run_step default_step",
        "run_step Around around",
        "on_log Log",
        "after_step Inner",
    ]
    assert step == [f"step {number} {call}" for number in (0, 1) for call in calls]
    assert all(re.search(r"\d+\.\d{3} ms$", line) for line in lines)


def test_a_call_inside_another_is_indented(traced):
    _, lines = traced
    assert next(line for line in lines if "on_log" in line).startswith("step 0    on_log")
    assert next(line for line in lines if "after_step" in line).startswith("step 0  after_step")


def test_the_summary_has_the_number_of_calls_and_the_sums(traced):
    trace, _ = traced
    header, *rows = trace.summary()
    assert header.split()[:3] == ["hook", "id", "calls"]
    found = {(row.split()[0], row.split()[1]): row.split()[2:] for row in rows}
    assert set(found) == {
        ("run_step", "default_step"),
        ("run_step", "Around"),
        ("after_step", "Inner"),
        ("on_log", "Log"),
    }
    for calls, total, mean in found.values():
        assert calls == "2"
        assert float(total) == pytest.approx(2 * float(mean), abs=0.002)


def test_tracing_changes_no_result():
    def train(trace):
        trainer = Trainer()
        trainer.register_hooks([Around(), Inner(), Log()])
        if trace:
            trainer.hooks.trace()
        return trainer.train(0, 2), trainer.iter

    assert train(trace=True) == train(trace=False)


def test_an_exception_passes_through_a_traced_wrapper():
    class Catches:
        caught = None

        @hookimpl(wrapper=True)
        def run_step(self):
            try:
                return (yield)
            except ValueError as error:
                self.caught = error
                raise

    class Broken(TrainerBase):
        def run_step(self, batch):
            raise ValueError("in the step")

    trainer, catches = Broken(), Catches()
    trainer.register_hooks([catches])
    trainer.hooks.trace()
    with pytest.raises(ValueError, match="in the step"):
        trainer.train(0, 1)
    assert str(catches.caught) == "in the step"
