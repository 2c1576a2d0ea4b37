"""``reid-config diff``: what differs between two runs, files or recipes."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click

from reid_core.cli.common import no_plugins_option, reports_errors
from reid_core.config.difference import Difference, Side, compare

#: Letters of a value that the table shows; JSON has all of them.
_SHOWN = 40


@click.command()
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@no_plugins_option
@reports_errors
def diff(a: str, b: str, as_json: bool, no_plugins: bool) -> int:
    """Show what differs between two runs, YAML files or recipes.

    A and B are run folders, YAML files or names of recipes. Two runs are compared in their
    settings, components and versions, data, git, environment and numerics as well. Leaves with 0
    where nothing differs, and with 1 where something does.
    """
    sides = Side.read(a), Side.read(b)
    differences, notes = compare(*sides)
    if as_json:
        click.echo(_json(a, b, differences, notes))
    else:
        for line in _table(differences):
            click.echo(line)
    for note in notes:
        click.echo(f"note: {note}", err=True)
    return 1 if differences else 0


def _json(a: str, b: str, differences: Sequence[Difference], notes: Sequence[str]) -> str:
    plain = [{"path": one.path, "a": one.a, "b": one.b} for one in differences]
    content = {"schema": 1, "a": a, "b": b, "differences": plain, "notes": list(notes)}
    return json.dumps(content, indent=2, ensure_ascii=False)


def _table(differences: Sequence[Difference]) -> list[str]:
    if not differences:
        return []
    rows = [("", "A", "B"), *((one.path, _text(one.a), _text(one.b)) for one in differences)]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    return [f"{path:{widths[0]}}  {a:{widths[1]}}  {b}".rstrip() for path, a, b in rows]


def _text(value: object) -> str:
    if value is None:
        return "-"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
