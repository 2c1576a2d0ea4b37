"""Every logged number, one JSON object a line, always on disk."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING

from reid_core.checkpoint.atomic import write_text_atomically
from reid_core.engine.evaluation.run import evaluation_names
from reid_core.hookspecs import hookimpl

if TYPE_CHECKING:
    from reid_core.engine import DefaultTrainer


class MetricLog:
    """Appends to ``metrics.jsonl`` in the run folder.

    A row holds ``step`` (steps done), ``epoch`` and the numbers. A resumed run first drops the rows
    of steps that it is going to do again, so that no step appears twice.
    """

    first_process_only = True

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
        evaluated = {(e.dataset, e.step) for e in trainer.results.evaluations}
        names = set(evaluation_names(trainer))
        kept = _done(rows, trainer.start_iter, evaluated, names)
        pending = trainer.meter.pending_since
        if pending is not None:
            # A run that failed wrote them unasked; they are part of the next row.
            kept = [row for row in kept if not _is_of_steps_since(pending, row)]
        if len(kept) < len(rows):
            write_text_atomically(path, "".join(kept))

    @hookimpl
    def on_log(self, trainer: DefaultTrainer, step: int, scalars: Mapping[str, float]) -> None:
        """Append a row."""
        numbers = {name: v if math.isfinite(v) else None for name, v in scalars.items()}
        row = {"step": step, "epoch": round(step / len(trainer.data_loader), 4), **numbers}
        path = _path(trainer)
        try:
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        except OSError as error:
            # A full disk does not say what had no room on it.
            error.filename = str(path)
            raise


def _path(trainer: DefaultTrainer) -> Path:
    return trainer.folder.path / "metrics.jsonl"


def _done(
    lines: Sequence[str], start: int, evaluated: Set[tuple[str, int]], test_sets: Set[str]
) -> list[str]:
    """Return the rows that belong to what the checkpoint holds.

    An evaluation that was due at ``start`` may have been logged without being in the checkpoint; it
    is done again, and so is what was logged after it.

    Args:
        lines: All rows, in the order in which they were written.
        start: Steps done by the checkpoint.
        evaluated: (test set, step) of each evaluation in it.
        test_sets: Names that evaluations are logged under.
    """
    kept = []
    for line in lines:
        row = _read(line)
        step = start + 1 if row is None else int(row["step"])
        names = {name.rpartition("/")[0] for name in row or ()} & test_sets
        if step == start and any((name, step) not in evaluated for name in names):
            break
        if step <= start:
            kept.append(line)
    return kept


def _is_of_steps_since(step: int, line: str) -> bool:
    """Say whether a row is one of the meter's, and of steps after so many."""
    row = _read(line) or {}
    return "lr" in row and int(row["step"]) > step


def _read(line: str) -> dict[str, float] | None:
    """Return the numbers of a row; None for a line that a crash has cut short."""
    try:
        row: dict[str, float] = json.loads(line)
        int(row["step"])
    except (ValueError, KeyError, TypeError):
        return None
    return row
