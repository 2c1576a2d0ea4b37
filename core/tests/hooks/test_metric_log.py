"""The rows of a run that was ended at some moment and went on."""

from __future__ import annotations

import json

import pytest

from reid_core.config.schema import DEFAULT_HOOKS
from reid_core.engine import Interrupted
from reid_core.hookspecs import hookimpl
from reid_core.testing.market import write_tiny_market
from reid_core.testing.tiny_run import PlannedError, TinyRun, TinyTrainer


class Logger:
    """Logs a number of its own after each step."""

    @hookimpl
    def after_step(self, trainer, step):
        trainer.log_scalars(step + 1, {"own": float(step)})


class Ender:
    """Ends a run before an evaluation, or before a step."""

    def __init__(self, *, step, evaluation=None, signum=None):
        self.step = step
        self.evaluation = evaluation
        self.signum = signum
        self.seen = 0

    @hookimpl(tryfirst=True)
    def before_step(self, step):
        if self.evaluation is None and step == self.step:
            raise PlannedError("on purpose")

    @hookimpl(tryfirst=True)
    def before_eval(self, trainer):
        if self.evaluation is None or trainer.iter != self.step:
            return
        if self.seen == self.evaluation:
            if self.signum is None:
                raise PlannedError("on purpose")
            trainer.request_stop(self.signum)
        self.seen += 1


def run_in(folder, name, *, ender=None, resume=None, checkpoint=None, **settings):
    """Train as far as it goes; return the trainer, with its rows and its results."""
    if not (folder / "second").exists():
        write_tiny_market(folder / "second", test_identities=5)
    hooks = [n for n in DEFAULT_HOOKS if n != "report"]
    own = {"checkpoint": checkpoint or {}}
    run = TinyRun(
        settings={
            "output": str(folder / name),
            "train.log_every": 1,
            "data.test": [
                {"name": "reid-core/market1501", "root": str(folder / "data")},
                {"name": "reid-core/market1501", "root": str(folder / "second"), "title": "second"},
            ],
            "default_hooks": [{"name": f"reid-core/{n}", "id": n, **own.get(n, {})} for n in hooks],
            **{key.replace("__", "."): value for key, value in settings.items()},
        }
    )
    trainer = TinyTrainer(run.config(folder))
    trainer.register_hooks([Logger(), ender])
    trainer.resume_or_load(resume)
    trainer.train()
    return written(folder / name)


def written(folder):
    """Rows without times, and results."""
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    rows = [{k: v for k, v in json.loads(x).items() if not k.startswith("time/")} for x in lines]
    return rows, json.loads((folder / "results.json").read_text())


@pytest.mark.parametrize(
    ("ender", "settings"),
    [
        # Between the first and the second set of an evaluation, where no checkpoint lies.
        (
            {"step": 4, "evaluation": 1, "signum": 15},
            {"checkpoint": {"every": None, "every_steps": 3}},
        ),
        ({"step": 0, "evaluation": 1, "signum": 15}, {"evaluate__at_start": True}),
        # Before all sets as one, after the others.
        ({"step": 4, "evaluation": 2}, {"evaluate__combine": True}),
        # A checkpoint lies at step 5, whose row is still to come.
        ({"step": 5}, {"train__log_every": 3, "checkpoint": {"every_steps": 5}}),
    ],
    ids=["evaluation", "at_start", "combined", "between_rows"],
)
def test_rows_and_results_are_those_of_a_run_that_was_not_ended(tmp_path, ender, settings):
    whole = run_in(tmp_path, "whole", **settings)
    with pytest.raises((Interrupted, PlannedError)):
        run_in(tmp_path, "ended", ender=Ender(**ender), **settings)
    rows, results = run_in(tmp_path, "ended", resume="auto", **settings)
    assert rows == whole[0]
    assert results == whole[1]
    assert sum("own" in row for row in rows) == 8, "no row of a hook is lost"


def test_a_finished_run_that_is_resumed_keeps_its_combined_figures(tmp_path):
    whole = run_in(tmp_path, "run", evaluate__combine=True)
    assert {e["dataset"] for e in whole[1]["evaluations"]} > {"market1501+second"}
    assert run_in(tmp_path, "run", resume="auto", evaluate__combine=True) == whole
