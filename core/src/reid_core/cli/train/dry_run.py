"""``reid-train --dry-run``."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from reid_core.cli.train.request import TrainRequest
from reid_core.cli.train.stand_in import stand_in_trainer
from reid_core.wording import counted

if TYPE_CHECKING:
    from reid_core.engine.trial.dry_run import DryRun, Estimate, Part


def dry_run(request: TrainRequest) -> int:
    """Do one batch of everything and keep nothing; return the exit code."""
    from reid_core.engine.trial.dry_run import Part
    from reid_core.engine.trial.dry_run import dry_run as try_out

    started = time.perf_counter()
    with stand_in_trainer(request, needs_output=True) as trainer:
        built = time.perf_counter() - started
        found = try_out(trainer)
        is_first = trainer.processes.is_first
        told = f"{counted(len(trainer.components), 'component')} on {trainer.device}, data checked"
    if is_first:
        for line in _lines(found, Part("start", built, told)):
            click.echo(line)
    return 0


def _lines(found: DryRun, start: Part) -> Iterator[str]:
    parts = [start, *found.parts]
    width = max(len(part.name) for part in parts)
    yield f"{'part'.ljust(width)}  {'seconds':>8}"
    for part in parts:
        yield f"{part.name.ljust(width)}  {part.seconds:>8.2f}  {part.told}"
    if found.peak_bytes is not None:
        yield f"peak memory {found.peak_bytes / 2**20:.0f} MiB {found.memory_of}"
    if found.left_out:
        yield f"left out, as they only watch: hooks {', '.join(found.left_out)}"
    yield from _estimate(found.estimate)
    yield "ok: everything ran once; nothing was kept, and no figure of it means anything"


def _estimate(estimate: Estimate) -> Iterator[str]:
    yield f"estimate of the whole run: {_clock(estimate.seconds)}"
    yield (
        f"  {counted(estimate.num_steps, 'step')} of {estimate.step_seconds:.3g} s "
        f"(estimated from {counted(estimate.from_steps, 'step')})"
    )
    if estimate.num_evaluations:
        yield (
            f"  {counted(estimate.num_evaluations, 'evaluation')} of "
            f"{estimate.evaluation_seconds:.3g} s "
            f"(estimated from {counted(estimate.from_images, 'image')})"
        )


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"
