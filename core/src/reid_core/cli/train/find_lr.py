"""``reid-train --find-lr``."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reid_core.cli.train.request import TrainRequest
from reid_core.cli.train.stand_in import stand_in_trainer
from reid_core.config import Config
from reid_core.errors import UsageError
from reid_core.paths import require_writable

if TYPE_CHECKING:
    from reid_core.engine.trial.find_lr import LrRange

#: Rows of the printed table.
_ROWS = 20


def find_lr(request: TrainRequest) -> int:
    """Try learning rates, and suggest one; return the exit code."""
    from reid_core.engine.trial.find_lr import find_lr as find
    from reid_core.report.lr_range_plot import write_lr_range

    wanted = _folder(request.config)
    require_writable(wanted)
    with stand_in_trainer(request, needs_output=False) as trainer:
        found = find(trainer)
        if not trainer.processes.is_first:
            return 0
        folder = _made(wanted)
        title = f"Learning-rate range test of {request.config.name}"
        files = write_lr_range(folder, found.points, title=title)
    for line in (*_table(found), "", *_verdict(found)):
        click.echo(line)
    for path in files:
        click.echo(f"written {path}")
    if all(path.suffix != ".png" for path in files):
        click.echo("for a .png too: pip install 'reid-core[plots]'")
    return 0


def _folder(config: Config) -> Path:
    from reid_core.engine.record.run_folder import default_parent

    if config.output is not None:
        return Path(config.output).expanduser() / "find_lr"
    now = datetime.datetime.now().astimezone()
    return default_parent(config) / f"find-lr-{now:%Y%m%d-%H%M%S}"


def _made(first: Path) -> Path:
    """Make the folder of the plot; what an earlier test wrote stays as it is."""
    try:
        for number in count(1):
            folder = first if number == 1 else first.with_name(f"{first.name}-{number}")
            if not folder.exists():
                folder.mkdir(parents=True)
                return folder
    except OSError as error:
        raise UsageError(
            f"{first} cannot be made: {error.strerror or error}; choose another folder by --output"
        ) from error
    raise AssertionError("numbers do not end")


def _table(found: LrRange) -> Iterator[str]:
    yield f"{'lr':>10}  {'loss':>10}  {'smoothed':>10}"
    gap = max(1, -(-len(found.points) // _ROWS))
    for point in found.points[::gap]:
        yield f"{point.rate:>10.2e}  {point.loss:>10.4g}  {point.smoothed:>10.4g}"


def _verdict(found: LrRange) -> Iterator[str]:
    last, lowest = found.points[-1], found.lowest
    yield {
        "complete": f"all rates up to {last.rate:.2e} were tried",
        "too_high": f"ended at {last.rate:.2e}: the smoothed loss was over 4 times its lowest",
        "not_finite": f"ended behind {last.rate:.2e}: the loss was no longer finite",
    }[found.end]
    steepest = found.steepest
    if steepest is None:
        yield (
            "no suggestion: the loss falls at none of the rates; look at the plot, and at whether "
            "the model can learn (--overfit-batches 1)"
        )
        return
    yield f"the loss falls fastest around {steepest.rate:.2e}, and is lowest at {lowest.rate:.2e}"
    yield f"suggestion: {found.suggestion:.2e}, a tenth of the rate of the lowest smoothed loss"
    yield f"  --set train.optimizer.lr={found.suggestion:.1e}"
