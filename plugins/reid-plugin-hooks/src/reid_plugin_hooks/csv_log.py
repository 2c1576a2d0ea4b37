"""Logged numbers as a table."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from reid_core.checkpoint.atomic import write_text_atomically
from reid_core.hookspecs import hookimpl
from reid_plugin_hooks.checks import require_plain_name

if TYPE_CHECKING:
    from reid_core import DefaultTrainer

#: The columns that each row has.
_KEYS = ("step", "epoch")


class CsvLog:
    """Writes a table: a row a logged step, a column a number.

    Columns are ``step`` (steps done), ``epoch``, and the numbers in the order in which they first
    appear; what a step did not log is empty, what is not finite is ``nan`` or ``inf``. A new column
    makes the file be written anew, otherwise rows are appended. A resumed run first drops the rows
    of steps that it is going to do again, so that no step appears twice.

    Args:
        file: Name of the file, inside the run folder.

    Raises:
        ConfigError: ``file`` is no plain name.
    """

    observer = True

    def __init__(self, *, file: str = "metrics.csv") -> None:
        self._file = require_plain_name("csv", "file", file)
        self._columns: dict[str, None] = dict.fromkeys(_KEYS)
        self._rows: dict[int, dict[str, str]] = {}
        # Where in the file the newest row begins.
        self._last_row_at = 0

    @hookimpl(tryfirst=True)
    def before_train(self, trainer: DefaultTrainer) -> None:
        """Take over the rows of steps that are done, before new ones come."""
        path = self._path(trainer)
        self._columns, self._rows = dict.fromkeys(_KEYS), {}
        if path.exists():
            if trainer.start_iter > 0:
                # A run that failed wrote a row unasked, which is part of the next one.
                self._read(path, trainer.start_iter, trainer.meter.pending_since)
            self._write_all(path)

    @hookimpl
    def on_log(self, trainer: DefaultTrainer, step: int, scalars: Mapping[str, float]) -> None:
        """Add numbers to the row of a step."""
        is_last = not self._rows or step >= max(self._rows)
        has_row, has_columns = step in self._rows, self._columns.keys() >= scalars.keys()
        epoch = repr(round(step / len(trainer.data_loader), 4))
        row = self._rows.setdefault(step, {"step": str(step), "epoch": epoch})
        row |= {name: repr(float(value)) for name, value in scalars.items()}
        self._columns |= dict.fromkeys(scalars)
        path = self._path(trainer)
        if is_last and has_columns and path.exists():
            self._write_last(path, row, is_new=not has_row)
        else:
            self._write_all(path)

    def _path(self, trainer: DefaultTrainer) -> Path:
        return trainer.folder.path / self._file

    def _read(self, path: Path, steps_done: int, pending: int | None) -> None:
        with path.open(encoding="utf-8", newline="") as file:
            table = list(csv.reader(file))
        header = table[0] if table else []
        for cells in table[1:]:
            # A crash may have cut the last line.
            if len(cells) != len(header) or not cells[0].isdecimal():
                continue
            row = {name: cell for name, cell in zip(header, cells, strict=True) if cell}
            is_part = pending is not None and int(cells[0]) > pending and "lr" in row
            if int(cells[0]) <= steps_done and not is_part:
                self._rows[int(cells[0])] = row
        used = {name for row in self._rows.values() for name in row}
        self._columns |= dict.fromkeys(name for name in header if name in used)

    def _write_all(self, path: Path) -> None:
        lines = [self._line({name: name for name in self._columns})]
        lines += [self._line(self._rows[step]) for step in sorted(self._rows)]
        write_text_atomically(path, "".join(lines))
        self._last_row_at = sum(len(line.encode()) for line in lines[:-1])

    def _write_last(self, path: Path, row: Mapping[str, str], *, is_new: bool) -> None:
        with path.open("r+b") as file:
            if is_new:
                self._last_row_at = file.seek(0, io.SEEK_END)
            else:
                file.seek(self._last_row_at)
                file.truncate()
            file.write(self._line(row).encode())

    def _line(self, row: Mapping[str, str]) -> str:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerow(row.get(name, "") for name in self._columns)
        return text.getvalue()
