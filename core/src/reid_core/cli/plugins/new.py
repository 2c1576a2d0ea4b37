"""``reid-plugins new``: a complete distribution with one component, ready to be changed."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from reid_core.cli.common import CONTEXT, reports_errors
from reid_core.plugins.index import PluginIndex
from reid_core.templates.availability import require_free
from reid_core.templates.kinds import TEMPLATE_KINDS, template_kind
from reid_core.templates.names import parse_names
from reid_core.templates.project import Project, render_project
from reid_core.templates.writer import write_project


@click.command("new", context_settings=CONTEXT)
@click.argument("plugin", metavar="NAME")
@click.option(
    "--kind", metavar="K", required=True, help=f"What it provides: {', '.join(TEMPLATE_KINDS)}."
)
@click.option(
    "--dir",
    "parent",
    metavar="D",
    default=".",
    help="Folder to make the project's folder in; the working directory by default.",
)
@click.option("--author", metavar="A", default="", help="Named in the licence and in the metadata.")
@reports_errors
def new_command(plugin: str, kind: str, parent: str, author: str) -> int:
    """Write a plugin that works: sources, recipe, tests, README, licence, CI file.

    NAME is your word for it, in small letters; the distribution is called reid-plugin-NAME.
    Nothing is overwritten.

    \b
    reid-plugins new my-loss --kind loss
    reid-plugins new my-loss --kind loss --dir plugins --author "Ada Lovelace"
    """  # noqa: D301
    template = template_kind(kind)
    names = parse_names(plugin, template)
    # Without switches: a name is taken even while its distribution is switched off.
    require_free(names, template, PluginIndex.scan(switches=()))
    project = render_project(names, template, author=author)
    folder = write_project(project, Path(parent).expanduser())
    click.echo(
        f"wrote {folder}: {len(project.files)} files. Next:\n\n{_next_commands(project, folder)}"
    )
    return 0


def _next_commands(project: Project, folder: Path) -> str:
    return "\n".join(
        f"  {line}"
        for line in (
            f"cd {shlex.quote(str(folder))} && pip install -e '.[test]'",
            "python -m pytest",
            f"reid-train --config {project.recipe}",
        )
    )
