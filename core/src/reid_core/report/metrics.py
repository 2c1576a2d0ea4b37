"""Read ``metrics.jsonl`` into curves."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from reid_core.report.records import Series


@dataclass(frozen=True)
class Metrics:
    """The curves of a run.

    Args:
        series: Curves by key, such as ``"loss"`` or ``"synthetic/mAP"``.
        epochs: Epochs done by step, where rows say so.
        num_damaged_lines: Lines that hold no row, for example one cut off by a crash.
    """

    series: Mapping[str, Series] = field(default_factory=dict)
    epochs: Mapping[int, float] = field(default_factory=dict)
    num_damaged_lines: int = 0


def read_metrics(path: Path) -> Metrics:
    """Read the curves that the report draws: losses, learning rates, mAP and rank-1.

    A run that was resumed may hold two rows for one step: the later row wins.

    Args:
        path: A file with one JSON object a line, each with a ``step``.

    Returns:
        The curves, each sorted by step.

    Raises:
        OSError: The file cannot be read.
    """
    # A replacement character damages one line; a decoding error would lose the whole file.
    with path.open(encoding="utf-8", errors="replace") as lines:
        return parse_metrics(lines)


def parse_metrics(lines: Iterable[str]) -> Metrics:
    """Like :func:`read_metrics`, from lines of text."""
    points: dict[str, dict[int, float]] = {}
    epochs: dict[int, float] = {}
    damaged = 0
    for line in lines:
        if not line.strip():
            continue
        row = _row(line)
        step = None if row is None else _number(row.get("step"))
        if row is None or step is None or not math.isfinite(step):
            damaged += 1
            continue
        epoch = _number(row.get("epoch"))
        if epoch is not None and math.isfinite(epoch):
            epochs[int(step)] = epoch
        for key, value in _drawn(row).items():
            points.setdefault(key, {})[int(step)] = value
    series = {key: _series(key, by_step) for key, by_step in points.items()}
    return Metrics(series, dict(sorted(epochs.items())), damaged)


def _is_drawn(key: str) -> bool:
    """Tell whether the report draws this key; the others are not kept in memory."""
    return (
        key in ("loss", "lr")
        or key.startswith(("loss/", "lr/"))
        or key.endswith(("/mAP", "/rank1"))
    )


def _row(line: str) -> dict[str, object] | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _drawn(row: Mapping[str, object]) -> dict[str, float]:
    values = {}
    for key, value in row.items():
        # Strict JSON has no NaN: some writers put null where a value was not finite.
        number = math.nan if value is None else _number(value)
        if _is_drawn(key) and number is not None:
            values[key] = number
    return values


def _number(value: object) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            return math.inf
    return None


def _series(key: str, by_step: Mapping[int, float]) -> Series:
    steps = tuple(sorted(by_step))
    return Series(key, steps, tuple(by_step[step] for step in steps))
