"""What the plugin layer costs: starting the commands, listing 500 distributions, calling hooks.

Commands are timed as whole processes, one of each in turn, so that whatever else the machine does
hits all of them. Steps are timed in the real loop of ``TrainerBase``, a block of each number of
hooks in turn, beside a plain ``for`` loop over the same step; what counts is the time of the
thread, from which the time of other programs is left out. Shown are medians, and the best of all
runs, which a busy machine disturbs least.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from reid_core import Batch, hookimpl
from reid_core.engine import StepResult, TrainerBase

#: Steps at the start of a run that are not timed: the first ones look after the random state.
UNTIMED_STEPS = 20

METADATA = """\
Metadata-Version: 2.4
Name: {name}
Version: 1.0
Summary: A distribution that is only there to be found
Requires-Python: >=3.11
Requires-Dist: reid-core>=0.1
Requires-Dist: torch>=2.6
Requires-Dist: numpy
Provides-Extra: extra
Requires-Dist: pillow; extra == "extra"
Description-Content-Type: text/markdown

"""

OURS = """\
[reid_core.losses]
bench_loss_{number} = bench_{number}.loss:Loss
[reid_core.hooks]
bench_hook_{number} = bench_{number}.hook:Hook
"""

THEIRS = """\
[console_scripts]
bench-{number} = bench_{number}.main:main
"""


class Idle:
    """A hook that does nothing wherever the loop calls it in a step."""

    @hookimpl
    def before_step(self, trainer: TrainerBase, step: int, batch: Batch) -> None:
        """Do nothing."""

    @hookimpl
    def after_backward(self, trainer: TrainerBase, step: int) -> None:
        """Do nothing."""

    @hookimpl
    def after_step(self, trainer: TrainerBase, step: int, result: StepResult) -> None:
        """Do nothing."""

    @hookimpl
    def should_stop(self, trainer: TrainerBase, step: int) -> str | None:
        """Go on."""
        return None


class IdleObserver:
    """An observer, which is switched off when it fails: it may only look on."""

    observer = True

    @hookimpl
    def before_step(self, trainer: TrainerBase, step: int, batch: Batch) -> None:
        """Do nothing."""

    @hookimpl
    def after_backward(self, trainer: TrainerBase, step: int) -> None:
        """Do nothing."""

    @hookimpl
    def after_step(self, trainer: TrainerBase, step: int, result: StepResult) -> None:
        """Do nothing."""


class IdleWrapper(Idle):
    """The same, which also surrounds the step."""

    @hookimpl(wrapper=True)
    def run_step(self, trainer: TrainerBase, step: int, batch: Batch) -> Iterator[None]:
        """Hand the result on."""
        return (yield)


class EmptySteps(TrainerBase):
    """The real loop around a step that does nothing but what every step does with hooks."""

    def __init__(self, batch: Batch, result: StepResult) -> None:
        super().__init__()
        self.batch, self.result = batch, result
        self.seconds = 0.0

    def batches(self, epoch: int, start: int) -> Iterator[Batch]:
        """Yield one batch again and again, and take the time between two of them."""
        for _ in range(UNTIMED_STEPS):
            yield self.batch
        started = time.thread_time()
        for _ in range(UNTIMED_STEPS + 1, self.max_iter):
            yield self.batch
        self.seconds = time.thread_time() - started
        # After the last batch the loop leaves and does not come back here.
        yield self.batch

    def run_step(self, batch: Batch) -> StepResult:
        """Fire the hook that a step fires."""
        self.hooks.after_backward(trainer=self, step=self.iter)
        return self.result


def time_hooks(hooks: Sequence[object], steps: int) -> float:
    """Return the microseconds of a step of the real loop with these hooks."""
    nothing = torch.empty(0)
    batch = Batch(images=nothing, pids=nothing, camids=nothing, index=nothing)
    trainer = EmptySteps(batch, StepResult(loss=nothing, losses={}, metrics={}))
    trainer.register_hooks(hooks)
    trainer.train(0, UNTIMED_STEPS + steps + 1)
    return 1e6 * trainer.seconds / steps


def time_plain_loop(steps: int) -> float:
    """Return the microseconds of a step of a ``for`` loop over a step function."""
    nothing = torch.empty(0)
    batch = Batch(images=nothing, pids=nothing, camids=nothing, index=nothing)
    result = StepResult(loss=nothing, losses={}, metrics={})

    def run_step(batch: Batch) -> StepResult:
        return result

    batches = [batch] * steps
    started = time.thread_time()
    for one in batches:
        run_step(one)
    return 1e6 * (time.thread_time() - started) / steps


def step_cases(steps: int) -> dict[str, Callable[[], float]]:
    """Return what is timed, by name; the first one is the reference."""
    cases: dict[str, Callable[[], float]] = {
        "plain for loop": lambda: time_plain_loop(steps),
    }
    for number in (0, 1, 10, 20):
        hooks = [Idle() for _ in range(number)]
        cases[f"{number} hooks"] = lambda hooks=hooks: time_hooks(hooks, steps)  # type: ignore[misc]
    cases["10 observers"] = lambda: time_hooks([IdleObserver() for _ in range(10)], steps)
    cases["10 hooks, wrapping the step"] = lambda: time_hooks(
        [IdleWrapper() for _ in range(10)], steps
    )
    return cases


def write_distributions(folder: Path, number: int) -> None:
    """Write metadata of ``number`` distributions, every second one with components for us."""
    for i in range(number):
        name = f"reid-plugin-bench-{i}" if i % 2 else f"bench-{i}"
        info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
        info.mkdir(parents=True)
        text = METADATA.format(name=name) + "What it is for. " * 200
        (info / "METADATA").write_text(text, encoding="utf-8")
        entries = (OURS if i % 2 else THEIRS).format(number=i)
        (info / "entry_points.txt").write_text(entries, encoding="utf-8")
        (info / "INSTALLER").write_text("pip\n", encoding="utf-8")
        (info / "RECORD").write_text("", encoding="utf-8")


def time_process(arguments: Sequence[str], path: Path) -> float:
    """Return the milliseconds of a whole process with ``path`` on Python's path."""
    environment = {**os.environ, "PYTHONPATH": str(path)}
    started = time.perf_counter()
    subprocess.run(arguments, env=environment, check=True, capture_output=True)
    return 1e3 * (time.perf_counter() - started)


def process_cases(empty: Path, full: Path, number: int) -> dict[str, Callable[[], float]]:
    """Return what is timed, by name; the first one is the reference."""
    scripts = Path(sys.executable).parent
    listed = [str(scripts / "reid-plugins"), "list"]
    commands: dict[str, tuple[list[str], Path]] = {
        "python -c pass": ([sys.executable, "-c", "pass"], empty),
        "import importlib_metadata": ([sys.executable, "-c", "import importlib_metadata"], empty),
        "import click": ([sys.executable, "-c", "import click"], empty),
        "reid-train --help": ([str(scripts / "reid-train"), "--help"], empty),
        "reid-plugins list": (listed, empty),
        f"reid-plugins list, {number} more": (listed, full),
    }
    return {
        name: lambda arguments=arguments, path=path: time_process(arguments, path)  # type: ignore[misc]
        for name, (arguments, path) in commands.items()
    }


@dataclass(frozen=True)
class Times:
    """Median and least of what was measured."""

    median: float
    best: float


def measure(cases: dict[str, Callable[[], float]], rounds: int) -> dict[str, Times]:
    """Run every case once a round."""
    times: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, case in cases.items():
            times[name].append(case())
    return {name: Times(statistics.median(t), min(t)) for name, t in times.items()}


def print_table(title: str, unit: str, measured: dict[str, Times]) -> None:
    """Print what was measured, and what it is above the first case and in proportion to it."""
    reference, first = next(iter(measured.items()))
    print(f"\n{title}; more and ratio against '{reference}'")
    print(f"{'':28}{f'median {unit}':>12}{'more':>9}{'ratio':>8}{f'best {unit}':>12}{'more':>9}")
    for name, times in measured.items():
        print(
            f"{name:28}{times.median:12.2f}{times.median - first.median:9.2f}"
            f"{times.median / first.median:8.2f}{times.best:12.2f}{times.best - first.best:9.2f}"
        )


def main() -> None:
    """Measure and print two tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--distributions", type=int, default=500)
    parser.add_argument("--runs", type=int, default=11, help="processes of each command")
    parser.add_argument("--blocks", type=int, default=60, help="blocks of each number of hooks")
    parser.add_argument("--steps", type=int, default=250, help="steps a block")
    parser.add_argument("--quick", action="store_true", help="only see whether it runs")
    options = parser.parse_args()
    if options.quick:
        options.distributions, options.runs, options.blocks, options.steps = 20, 1, 1, 50

    with tempfile.TemporaryDirectory() as folder:
        empty, full = Path(folder, "empty"), Path(folder, "full")
        empty.mkdir()
        write_distributions(full, options.distributions)
        cases = process_cases(empty, full, options.distributions)
        measure(cases, 1)  # compiles modules and fills the cache of the disk
        commands = measure(cases, options.runs)
    print_table(f"whole processes, {options.runs} runs each", "ms", commands)
    steps = measure(step_cases(options.steps), options.blocks)
    print_table(f"steps, {options.blocks} blocks of {options.steps} each", "µs", steps)
    hooks, plain = steps["10 hooks"], steps["plain for loop"]
    print(
        f"\nall hook calls of a step with 10 hooks: {hooks.median - plain.median:.2f} µs "
        f"(best {hooks.best - plain.best:.2f}; aim: under 25)"
    )


if __name__ == "__main__":
    main()
