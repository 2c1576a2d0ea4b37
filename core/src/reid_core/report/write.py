"""Write ``report.html`` into a run folder."""

from __future__ import annotations

import os
from pathlib import Path

from reid_core.errors import ReidError, UsageError
from reid_core.report.page import render
from reid_core.report.run_folder import read_run_folder

FILE_NAME = "report.html"


def write_report(run_dir: Path) -> Path:
    """Make the report of a run from the files in its folder.

    Files that are missing or damaged are named on the page; a run that has just begun has a
    report too. A report that is there already is replaced at once, so that no reader sees half.

    Args:
        run_dir: A run folder, finished or not.

    Returns:
        The path of the page, ``run_dir / "report.html"``.

    Raises:
        UsageError: ``run_dir`` is no folder.
        ReidError: The page cannot be written there.
    """
    if not run_dir.is_dir():
        raise UsageError(
            f"cannot make a report of {run_dir}: it is not a folder; expected a run folder, "
            f"the one that the config calls `output` and that holds metrics.jsonl"
        )
    return write_page(run_dir / FILE_NAME, render(read_run_folder(run_dir)))


def write_page(target: Path, page: str) -> Path:
    """Write a page at once, so that no reader sees half of it.

    Args:
        target: The file; one that is there already is replaced.
        page: HTML.

    Returns:
        ``target``.

    Raises:
        ReidError: It cannot be written there.
    """
    try:
        # File names that are no UTF-8 reach the page as lone surrogates.
        _replace(target, page.encode("utf-8", errors="backslashreplace"))
    except OSError as error:
        raise ReidError(
            f"cannot write {target}: {error.strerror}; "
            f"expected a folder that can be written to, with space for about {len(page) >> 10} kB"
        ) from error
    return target


def _replace(target: Path, content: bytes) -> None:
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(content)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
