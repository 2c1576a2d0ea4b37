"""Runs that end in every way there is, and how often each hook was called in them.

``python tests/docs/recorded_runs.py`` prints the table of ``docs/hooks.md``.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from reid_core.config import load_config
from reid_core.engine import DefaultTrainer
from reid_core.engine.hooks.hook_checks import DECIDING
from reid_core.hookspecs import HookSpecs, hookimpl

#: Every hook that a run calls, in the order of the reference.
CALLED = tuple(n for n in vars(HookSpecs) if not n.startswith("_") and n != "validate_config")

#: The ways a run can end, with the outcome of each.
WAYS = {
    "completed": "completed",
    "resumed": "completed",
    "stopped": "stopped",
    "interrupted": "interrupted",
    "a hook fails": "failed",
    "the step fails": "failed",
    "`before_train` fails": "failed",
    "an observer fails": "completed",
}

#: 2 epochs of 4 steps, evaluated at the start and after each epoch.
SETTINGS = {
    "data.train": {"name": "synthetic", "identities": 4, "test_identities": 4}
    | {"cameras": 2, "shots": 4},
    "data.image_size": [64, 32],
    "data.batch": {"sampler": "identity", "identities": 2, "instances": 4},
    "data.workers": 0,
    "train.epochs": 2,
    "train.schedule": {"name": "constant"},
    "evaluate": {"every": 1, "at_start": True},
    "device": "cpu",
}
#: Runs that end early do so with their sixth step.
LAST_STEP = 5


@dataclass(frozen=True)
class RecordedRun:
    """What was counted in a run, and where it wrote.

    Args:
        calls: Calls by hook, of the recorder.
        others: Where the recorder is an observer: calls by hook, of a hook beside it.
        folder: The run folder.
        status: The outcome.
        notes: What was added to the exception that ended it.
    """

    calls: Mapping[str, int]
    others: Mapping[str, int]
    folder: Path
    status: str
    notes: tuple[str, ...] = ()


class Recorder:
    """Counts the calls of every hook, and ends the run as it is told to."""

    def __init__(self, way: str = "completed") -> None:
        self.way = way
        self.calls: Counter[str] = Counter()

    @hookimpl
    def before_train(self) -> None:
        self.calls["before_train"] += 1
        if self.way == "`before_train` fails":
            raise RuntimeError("on purpose")

    @hookimpl
    def after_step(self, trainer: DefaultTrainer, step: int) -> None:
        self.calls["after_step"] += 1
        if step == LAST_STEP and self.way in ("a hook fails", "an observer fails"):
            raise RuntimeError("on purpose")
        if step == LAST_STEP and self.way == "interrupted":
            trainer.request_stop(15)

    @hookimpl
    def should_stop(self, step: int) -> str | None:
        self.calls["should_stop"] += 1
        return "on purpose" if step == LAST_STEP and self.way == "stopped" else None


class Observer(Recorder):
    """The same, as a hook that a run does not depend on."""

    observer = True
    # An observer decides nothing.
    should_stop = None


def _counting(name: str) -> object:
    def count(self: Recorder) -> None:
        self.calls[name] += 1

    return hookimpl(count)


for _name in set(CALLED) - {"before_train", "after_step", "should_stop"}:
    setattr(Recorder, _name, _counting(_name))
for _name in set(DECIDING) & set(CALLED):
    setattr(Observer, _name, None)


class Patient:
    """A hook that waits for the disk, so that the counts do not depend on how fast it is."""

    @hookimpl
    def before_step(self, trainer: DefaultTrainer) -> None:
        dict(trainer.hooks.items())["checkpoint"].wait(trainer)


class BrokenStep(DefaultTrainer):
    """A trainer whose sixth step fails."""

    def run_step(self, batch: object) -> object:
        if self.iter == LAST_STEP:
            raise RuntimeError("on purpose")
        return super().run_step(batch)


def record(way: str, folder: Path) -> RecordedRun:
    """Train until the end of a way.

    Args:
        way: One of :data:`WAYS`.
        folder: The run folder, which is made.
    """
    if way == "resumed":
        record("interrupted", folder)
    config = load_config("osnet/osnet_x0_25", SETTINGS | {"output": str(folder)})
    trainer = (BrokenStep if way == "the step fails" else DefaultTrainer)(config)
    trainer.resume_or_load("auto" if way == "resumed" else None)
    recorder, beside = Recorder(way), None
    if way == "an observer fails":
        recorder, beside = Observer(way), Recorder()
    trainer.register_hooks([Patient(), recorder, beside])
    notes: tuple[str, ...] = ()
    try:
        status: str = trainer.train().status
    except BaseException as error:
        status = "failed" if isinstance(error, RuntimeError) else "interrupted"
        notes = tuple(getattr(error, "__notes__", ()))
    if status != WAYS[way]:
        raise AssertionError(f"{way}: the run {status}, expected {WAYS[way]}")
    others = beside.calls if beside else {}
    return RecordedRun(recorder.calls, others, folder, status, notes)


def table(runs: Mapping[str, RecordedRun]) -> list[list[str]]:
    """Return a row a hook: its name, and its calls in each run."""
    return [[f"`{hook}`", *(_cell(hook, way, runs[way]) for way in runs)] for hook in CALLED]


def _cell(hook: str, way: str, run: RecordedRun) -> str:
    if way == "an observer fails" and hook in DECIDING:
        return "–"
    return str(run.calls[hook])


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        runs = {way: record(way, Path(folder, str(i))) for i, way in enumerate(WAYS)}
    lines = [["hook", *WAYS], ["---"] * (len(WAYS) + 1), *table(runs)]
    sys.stdout.write("".join(f"| {' | '.join(cells)} |\n" for cells in lines))


if __name__ == "__main__":
    main()
