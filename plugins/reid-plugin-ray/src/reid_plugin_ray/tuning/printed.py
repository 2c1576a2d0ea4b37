"""The table of a sweep, and its ``tune.json``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from reid_core.checkpoint.atomic import write_text_atomically
from reid_plugin_ray.tuning.records import TrialRecord
from reid_plugin_ray.tuning.request import SweepRequest

#: What has to be known about the figures of a sweep.
NOTE = (
    "the best trial was chosen by its figures on the test set, which are too good for it, unless "
    "that set is a validation split: 'reid-data split SOURCE -o mine.csv --val 0.2' writes "
    "one, mine_val.csv, to sweep on; then train best.yaml on mine.csv"
)


def write_records(
    path: Path, request: SweepRequest, records: Sequence[TrialRecord], best: TrialRecord | None
) -> None:
    """Write all trials as JSON.

    Args:
        path: The file.
        request: The sweep.
        records: The trials.
        best: The best of them.
    """
    plain = {
        "schema": 1,
        "metric": request.metric,
        "mode": request.mode,
        "scheduler": request.scheduler,
        "seed": request.seed,
        "num_trials": request.num_trials,
        "source": request.source,
        "space": request.space,
        "note": NOTE,
        "best": None if best is None else best.number,
        "trials": [asdict(record) for record in records],
    }
    write_text_atomically(path, json.dumps(plain, indent=2, ensure_ascii=False) + "\n")


def print_table(
    request: SweepRequest, records: Sequence[TrialRecord], console: Console | None = None
) -> None:
    """Print a row a trial, the best first.

    Args:
        request: The sweep.
        records: The trials.
        console: Where to; None is standard output.
    """
    paths = [one.path for one in request.distributions.distributions]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("trial", "state", "epoch", request.metric, *paths, "error"):
        table.add_column(name, overflow="fold")
    for record in _ranked(request, records):
        value = record.metrics.get(request.metric)
        table.add_row(
            record.number,
            record.state,
            f"{record.metrics['epoch']:g}" if "epoch" in record.metrics else "",
            "" if value is None else f"{value:.4f}",
            *(_short(record.values.get(path)) for path in paths),
            record.error.splitlines()[0] if record.error else "",
        )
    (console or Console(soft_wrap=False)).print(table)


def _ranked(request: SweepRequest, records: Sequence[TrialRecord]) -> list[TrialRecord]:
    sign = -1 if request.mode == "max" else 1

    def key(record: TrialRecord) -> tuple[bool, bool, float]:
        value = record.metrics.get(request.metric)
        return record.state == "failed", value is None, sign * (value or 0.0)

    return sorted(records, key=key)


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
