"""``reid-config``: show, check, compare and list recipes, and their learning rates."""

from __future__ import annotations

import json

import click

from reid_core.cli.common import (
    CONTEXT,
    load_plugin_files,
    no_plugins_option,
    plugin_file_option,
    reports_errors,
    set_option,
    with_no_plugins,
)
from reid_core.cli.config_diff import diff
from reid_core.cli.schedule import schedule
from reid_core.config import list_recipes, load_config
from reid_core.config.load import dump_config
from reid_core.config.origins import dump_with_origins
from reid_core.plugins.index import installed


@click.group(context_settings=CONTEXT)
@click.version_option(package_name="reid-core")
def main() -> None:
    """Show, check, compare and list configurations."""


@main.command()
@click.argument("name", metavar="FILE|NAME")
@set_option
@click.option("--origins", is_flag=True, help="Say behind each value where it was written.")
@no_plugins_option
@reports_errors
def show(name: str, overrides: tuple[str, ...], origins: bool, no_plugins: bool) -> int:
    """Print the resolved configuration: everything it extends, all defaults, all overrides."""
    config = load_config(name, with_no_plugins(overrides, no_plugins))
    click.echo(dump_with_origins(config) if origins else dump_config(config), nl=False)
    return 0


@main.command()
@click.argument("name", metavar="FILE|NAME")
@set_option
@plugin_file_option
@no_plugins_option
@reports_errors
def check(
    name: str, overrides: tuple[str, ...], plugin_files: tuple[str, ...], no_plugins: bool
) -> int:
    """List everything that is wrong with a configuration, each with file, line and column.

    Imports the components it names, to compare their parameters; reads no data.
    """
    load_plugin_files(plugin_files)
    config = load_config(name, with_no_plugins(overrides, no_plugins))
    # Imported here: components need torch, which the other commands do without.
    from reid_core.engine.check import check_config

    components = check_config(config)
    click.echo(f"ok: {name}, {len(components)} components")
    return 0


@main.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@reports_errors
def list_command(as_json: bool) -> int:
    """List the recipes that installed packages ship."""
    recipes = list_recipes()
    if as_json:
        plain = [{"name": name, "path": str(path)} for name, path in recipes.items()]
        click.echo(json.dumps({"schema": 1, "recipes": plain}, indent=2))
        return 0
    for line in recipes or _why_none():
        click.echo(line)
    return 0


main.add_command(schedule)
main.add_command(diff)


def _why_none() -> list[str]:
    """Say how to get recipes: they are switched off, or not installed."""
    index = installed()
    dists = dict.fromkeys(r.dist for r in index.by_kind("recipes") if r.status == "disabled")
    return [
        f"the recipes of {dist} are disabled by {switch.source}; {switch.undo(dist)}"
        for dist in dists
        for switch in index.switches
        if switch.covers(dist)
    ] or ["no installed package ships recipes; try: pip install reid-plugin-osnet"]
