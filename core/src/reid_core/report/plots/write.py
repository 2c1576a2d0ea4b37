"""Write every plot of a run as files of its own."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from pathlib import Path

from reid_core.errors import ReidError, UsageError
from reid_core.report.figure_sets import figure_sets
from reid_core.report.plots.make import plots_of
from reid_core.report.plots.names import file_stems
from reid_core.report.plots.png import draw_png, require_matplotlib
from reid_core.report.plots.tables import Cell, Table, tables_of
from reid_core.report.run_folder import RunFolder, read_run_folder


def write_plots(folder: Path, target: Path, *, png: bool = False) -> tuple[Path, ...]:
    """Write the plots of a run, each as CSV and, if wanted, as PNG.

    Files are called ``<test set>-<plot>.csv`` and ``.png``; what cannot stand in a file name is
    replaced, and names stay different. Files of that name are replaced, others are left alone. A
    run without ``details.json`` has no plots: nothing is written.

    Args:
        folder: A run folder, or one that ``reid-eval --output`` wrote.
        target: Where the files are put; made if it is missing.
        png: Whether to draw PNG files too; this needs the extra ``plots``.

    Returns:
        The files, sorted.

    Raises:
        UsageError: ``folder`` is no folder.
        DataError: ``png`` is true and matplotlib is not installed.
        ReidError: A file cannot be written.
    """
    if not folder.is_dir():
        raise UsageError(
            f"cannot make plots of {folder}: it is not a folder; expected a run folder, or one "
            "that reid-eval --output wrote"
        )
    if png:
        require_matplotlib()
    files = dict(_files(read_run_folder(folder), png=png))
    try:
        if files:
            target.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (target / name).write_bytes(content)
    except OSError as error:
        raise ReidError(
            f"cannot write plots into {target}: {error.strerror or error}; expected a folder that "
            "can be written to"
        ) from error
    return tuple(sorted(target / name for name in files))


def _files(run: RunFolder, *, png: bool) -> Iterator[tuple[str, bytes]]:
    """Return name and content of each file."""
    sets = figure_sets(run.details)
    for stem, figures in zip(file_stems([one.name for one in sets]), sets, strict=True):
        for name, table in tables_of(figures).items():
            yield f"{stem}-{name}.csv", _csv(table)
        for plot in plots_of(figures) if png else ():
            yield f"{stem}-{plot.stem}.png", draw_png(plot)


def _csv(table: Table) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([map(_cell, row) for row in table])
    # Names of files that are no UTF-8 have lone surrogates.
    return text.getvalue().encode("utf-8", errors="backslashreplace")


def _cell(value: Cell) -> str:
    """Write a cell; what is not defined is empty."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return str(value)
