"""``reid-eval --compare RUN_A RUN_B``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import click

from reid_core.cli.evaluate.printed import without_nan
from reid_core.cli.evaluate.request import require_free

#: Name of the page in the output folder.
PAGE = "comparison.html"


@dataclass(frozen=True)
class CompareRequest:
    """What ``--compare`` was asked for.

    Args:
        first: A run.
        second: The run that is better where differences are above 0.
        output: Folder for the page.
        as_json: Whether JSON is printed.
    """

    first: Path
    second: Path
    output: Path | None
    as_json: bool


def compare(request: CompareRequest) -> int:
    """Compare two runs, print figures and differences, and write the page.

    Args:
        request: Which runs.

    Returns:
        The exit code.
    """
    from reid_core.engine.evaluation.run_comparison import compare_folders

    require_free(request.output)
    compared = compare_folders(request.first, request.second)
    has_page = request.output is not None and any(one.test is not None for one in compared)
    if request.output is not None:
        _write(request.output, request, [one.plain() for one in compared], has_page=has_page)
    if request.as_json:
        click.echo(_json(request, [one.plain() for one in compared]))
        return 0
    click.echo(f"a  {request.first}")
    click.echo(f"b  {request.second}")
    click.echo(f"  {'':12} {'a':>9}  {'b':>9}  {'b - a':>7}")
    for one in compared:
        for line in one.lines():
            click.echo(line)
    if request.output is not None:
        click.echo(f"wrote   {request.output}")
    return 0


def _write(
    folder: Path, request: CompareRequest, plain: list[dict[str, object]], *, has_page: bool
) -> None:
    from reid_core.checkpoint.atomic import write_text_atomically
    from reid_core.report import write_comparison

    folder.mkdir(parents=True, exist_ok=True)
    write_text_atomically(folder / "comparison.json", _json(request, plain) + "\n")
    if has_page:
        write_comparison([request.first, request.second], folder / PAGE)


def _json(request: CompareRequest, plain: list[dict[str, object]]) -> str:
    content = {"schema": 1, "a": str(request.first), "b": str(request.second), "sets": plain}
    return json.dumps(without_nan(content), indent=2, ensure_ascii=False, allow_nan=False)
