"""Every logged number, one JSON object a line, always on disk."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from reid_core.checkpoint.atomic import write_text_atomically
from reid_core.hookspecs import hookimpl

if TYPE_CHECKING:
    from reid_core.engine import DefaultTrainer


class MetricLog:
    """Appends to ``metrics.jsonl`` in the run folder.

    A row holds ``step`` (steps done), ``epoch`` and the numbers. A resumed run first drops the rows
    of steps that it is going to do again, so that no step appears twice.
    """

    @hookimpl(tryfirst=True)
    def before_train(self, trainer: DefaultTrainer) -> None:
        """Drop rows from after the checkpoint that training resumes from, before new ones come."""
        path = _path(trainer)
        if not path.exists():
            return
        if trainer.start_iter == 0:
            path.unlink()
            return
        rows = path.read_text(encoding="utf-8").splitlines(keepends=True)
        done = {(e.dataset, e.step) for e in trainer.results.evaluations}
        kept = [row for row in rows if _is_done(row, trainer.start_iter, done)]
        if len(kept) < len(rows):
            write_text_atomically(path, "".join(kept))

    @hookimpl
    def on_log(self, trainer: DefaultTrainer, step: int, scalars: Mapping[str, float]) -> None:
        """Append a row."""
        numbers = {name: v if math.isfinite(v) else None for name, v in scalars.items()}
        row = {"step": step, "epoch": round(step / len(trainer.data_loader), 4), **numbers}
        with _path(trainer).open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def _path(trainer: DefaultTrainer) -> Path:
    return trainer.folder.path / "metrics.jsonl"


def _is_done(line: str, start: int, evaluations: set[tuple[str, int]]) -> bool:
    """Say whether a row belongs to what the checkpoint holds.

    Args:
        line: The row.
        start: Steps done by the checkpoint.
        evaluations: (data set, step) of each evaluation in it; the one that was due at
            ``start`` may have been logged and then be done again.
    """
    try:
        row = json.loads(line)
        step = int(row["step"])
    except (ValueError, KeyError, TypeError):
        return False  # a line cut short by a crash
    if step != start or "loss" in row:
        return step <= start
    names = {name.rpartition("/")[0] for name in row if "/" in name}
    return any((name, step) in evaluations for name in names)
