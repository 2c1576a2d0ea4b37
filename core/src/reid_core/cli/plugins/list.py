"""``reid-plugins list``: what is installed, read from metadata alone."""

from __future__ import annotations

import json
from dataclasses import asdict

import click
from packaging.utils import canonicalize_name

from reid_core.cli.common import CONTEXT, reports_errors
from reid_core.errors import UsageError, did_you_mean
from reid_core.plugins.index import KINDS, ComponentRef, PluginIndex, singular

_COLUMNS = ("kind", "name", "distribution", "version", "status")


@click.command("list", context_settings=CONTEXT)
@click.option("--kind", metavar="K", help=f"Only one kind: {', '.join(KINDS)}.")
@click.option("--dist", metavar="D", help="Only one distribution.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@reports_errors
def list_command(kind: str | None, dist: str | None, as_json: bool) -> int:
    """List every component: kind, name, distribution, version, status. Imports no plugin."""
    index = PluginIndex.scan()
    kind = None if kind is None else _known_kind(kind)
    dist = None if dist is None else _known_dist(dist, index)
    refs = [r for r in index.refs if kind in (None, r.kind) and dist in (None, r.dist)]
    if as_json:
        click.echo(json.dumps({"schema": 1, "components": [asdict(r) for r in refs]}, indent=2))
    else:
        _print_table(refs)
    return 0


def _known_kind(text: str) -> str:
    for kind in KINDS:
        if text in (kind, singular(kind)):
            return kind
    raise UsageError(
        f"--kind {text}: no such kind{did_you_mean(text, KINDS)} (known: {', '.join(KINDS)})"
    )


def _known_dist(text: str, index: PluginIndex) -> str:
    name = canonicalize_name(text)
    if name in index.dists():
        return name
    raise UsageError(
        f"--dist {text}: provides nothing here{did_you_mean(name, index.dists())} "
        f"(those that do: {', '.join(index.dists()) or 'none'})"
    )


def _print_table(refs: list[ComponentRef]) -> None:
    rows = [
        (
            ref.kind,
            ref.name,
            ref.dist,
            ref.version + (" (editable)" if ref.editable else ""),
            ref.status,
        )
        for ref in refs
    ]
    widths = [max(len(row[i]) for row in (_COLUMNS, *rows)) for i in range(len(_COLUMNS))]
    for row in (_COLUMNS, *rows):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo(line.rstrip())
