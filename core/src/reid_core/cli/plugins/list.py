"""``reid-plugins list``: what is installed, read from metadata alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

import click
from packaging.utils import canonicalize_name

from reid_core.cli.common import CONTEXT, reports_errors
from reid_core.cli.plugins.kind_option import kind_option, known_kind
from reid_core.errors import UsageError, did_you_mean
from reid_core.plugins.index import ComponentRef, PluginIndex

_COLUMNS = ("kind", "name", "distribution", "version", "status", "detail")


@click.command("list", context_settings=CONTEXT)
@kind_option
@click.option("--dist", metavar="D", help="Only one distribution.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--all", "show_all", is_flag=True, help="Second copies and deprecated names too.")
@reports_errors
def list_command(kind: str | None, dist: str | None, as_json: bool, show_all: bool) -> int:
    """List every component: kind, name, distribution, version, status. Imports no plugin."""
    index = PluginIndex.scan()
    kind = None if kind is None else known_kind(kind)
    dist = None if dist is None else _known_dist(dist, index)
    for broken in index.broken:
        click.echo(f"warning: {broken}", err=True)
    asked = [r for r in index.refs if kind in (None, r.kind) and dist in (None, r.dist)]
    shown = [r for r in asked if show_all or not _is_secondary(r)]
    if as_json:
        click.echo(json.dumps({"schema": 1, "components": [asdict(r) for r in shown]}, indent=2))
    else:
        _print_table(shown)
        _print_footer(shown, len(asked) - len(shown))
    return 0


def _known_dist(text: str, index: PluginIndex) -> str:
    name = canonicalize_name(text)
    if name in index.dists():
        return name
    raise UsageError(
        f"--dist {text}: provides nothing here{did_you_mean(name, index.dists())} "
        f"(those that do: {', '.join(index.dists()) or 'none'})"
    )


def _is_secondary(ref: ComponentRef) -> bool:
    return ref.status == "shadowed" or ref.deprecated


def _print_table(refs: Sequence[ComponentRef]) -> None:
    rows = [
        (
            ref.kind,
            ref.name,
            ref.dist,
            ref.version + (" (editable)" if ref.editable else ""),
            ref.status,
            ref.detail or _role(ref),
        )
        for ref in refs
    ]
    # Most of the time nothing is wrong, and there is nothing to say about it.
    columns = _COLUMNS if any(row[-1] for row in rows) else _COLUMNS[:-1]
    table = [columns, *(row[: len(columns)] for row in rows)]
    widths = [max(len(row[i]) for row in table) for i in range(len(columns))]
    for row in table:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo(line.rstrip())


def _role(ref: ComponentRef) -> str:
    if not ref.alias_of:
        return ""
    return f"{'old name of' if ref.deprecated else 'stands for'} {ref.alias_of}"


def _print_footer(refs: Sequence[ComponentRef], hidden: int) -> None:
    dists = len({ref.dist for ref in refs})
    footer = f"{_count(len(refs), 'component')} of {_count(dists, 'distribution')}"
    click.echo(f"\n{footer}{f'; {hidden} not shown, see --all' if hidden else ''}")


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
