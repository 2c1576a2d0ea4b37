"""``reid-plugins show``: one component, with all that can be said about it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click
from packaging.utils import canonicalize_name

from reid_core.cli.common import (
    CONTEXT,
    load_plugin_files,
    plugin_file_option,
    reports_errors,
)
from reid_core.cli.plugins.kind_option import kind_option, known_kind
from reid_core.errors import PluginError, did_you_mean, nearest
from reid_core.plugins.index import KINDS, ComponentRef, PluginIndex, singular
from reid_core.plugins.known import provider_of
from reid_core.plugins.registries import local_components

if TYPE_CHECKING:
    from reid_core.inspection.component_view import CodeView, ComponentView


@click.command("show", context_settings=CONTEXT)
@click.argument("component", metavar="NAME")
@kind_option
@plugin_file_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@reports_errors
def show_command(
    component: str, kind: str | None, plugin_files: tuple[str, ...], as_json: bool
) -> int:
    """Show one component, and the YAML that turns it on.

    NAME is what a configuration says, plain or as DISTRIBUTION/NAME. That component is imported.
    """
    load_plugin_files(plugin_files)
    index = PluginIndex.scan()
    refs = _find(component, None if kind is None else known_kind(kind), index)
    # Imported here: reading recipes takes a moment that an unknown name need not wait for.
    from reid_core.inspection.component_view import recipes_that_use, view_of

    views = []
    for position, ref in enumerate(refs):
        users = recipes_that_use(ref, index)
        if not as_json:
            # Before it is loaded: a component that ends the process has shown this much.
            _print(["", *_origin(ref)] if position else _origin(ref))
        view = view_of(ref, index, users)
        views.append(view)
        if not as_json:
            _print(_rest(view))
    if as_json:
        plain = {"schema": 1, "components": [view.plain() for view in views]}
        click.echo(json.dumps(plain, indent=2))
    for view in views:
        if view.error:
            click.echo(f"error: {view.error}", err=True)
    return PluginError.exit_code if any(view.error for view in views) else 0


def _find(name: str, kind: str | None, index: PluginIndex) -> list[ComponentRef]:
    dist, separator, plain = name.rpartition("/")
    wanted = f"{canonicalize_name(dist)}/{plain}" if separator else name
    found = [
        ref
        for ref in [*local_components(), *index.refs]
        if wanted in (ref.name, ref.qualified) and kind in (None, ref.kind) and ref.kind in KINDS
    ]
    # A second copy is shown only where it is all there is.
    found = [ref for ref in found if ref.status != "shadowed"] or found
    if found:
        return found
    kinds = [kind] if kind else [k for k in KINDS if provider_of(k, name)]
    if kinds:
        index.find(kinds[0], name)  # knows what to say
    raise PluginError(_unknown(name, index))


def _unknown(name: str, index: PluginIndex) -> str:
    from reid_core.config import list_recipes

    if name in list_recipes(index):
        return f"{name} is a recipe, not a component; reid-config show {name}"
    names = {ref.name for ref in index.refs} | {ref.qualified for ref in index.refs}
    near = nearest(name, sorted(names))
    kinds = {singular(ref.kind) for ref in index.refs if near in (ref.name, ref.qualified)}
    what = f" (a {' and a '.join(sorted(kinds))})" if near else ""
    return (
        f"no installed component is called {name!r}{did_you_mean(name, sorted(names))}{what}; "
        "'reid-plugins list' shows them all"
    )


def _print(lines: Sequence[str]) -> None:
    for line in lines:
        click.echo(line.rstrip())


def _origin(ref: ComponentRef) -> list[str]:
    editable = " (editable)" if ref.editable else ""
    lines = [
        f"{singular(ref.kind)} {ref.name}",
        f"  distribution  {ref.dist} {ref.version}{editable}",
        f"  entry point   {ref.value}",
        f"  status        {ref.status}{f': {ref.detail}' if ref.detail else ''}",
    ]
    if ref.alias_of:
        lines.append(f"  stands for    {ref.alias_of}{' (an old name)' if ref.deprecated else ''}")
    return lines


def _rest(view: ComponentView) -> list[str]:
    lines = [] if view.code is None else list(_code_lines(view.code))
    if view.recipe_files:
        lines += ["", "Recipes"]
        lines += [f"  {name}  {path}" for name, path in view.recipe_files.items()]
    if view.used_by:
        lines += ["", "Recipes that use it", *(f"  {name}" for name in view.used_by)]
    if view.snippet:
        lines += ["", "In a configuration", *(f"  {one}" for one in view.snippet.splitlines())]
    return lines


def _code_lines(code: CodeView) -> Iterator[str]:
    if code.file:
        yield f"  file          {code.file}:{code.line}"
    if code.doc:
        yield ""
        yield from (f"  {line}" for line in code.doc.splitlines())
    own = [row for row in code.parameters if not row.is_from_trainer]
    given = [row for row in code.parameters if row.is_from_trainer]
    yield ""
    yield "Parameters" if own else "No parameters of its own"
    yield from _table([(r.name, r.type, "required" if r.is_required else r.default) for r in own])
    if given:
        yield ""
        yield "Filled in by the trainer"
        yield from _table([(row.name, row.type, "") for row in given])
    if code.hooks:
        yield ""
        what = ", as an observer: a run goes on when it fails" if code.is_observer else ""
        yield f"Hooks{what}"
        yield from _table([(f"{h.hook}({', '.join(h.arguments)})", h.order) for h in code.hooks])


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    if not rows:
        return
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        yield "  " + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip()
