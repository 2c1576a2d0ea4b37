"""``reid-data convert``: any data set as a table with portable paths."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from reid_core.cli.common import CONTEXT, reports_errors
from reid_core.cli.data.output import (
    as_component,
    echo_notes,
    force_option,
    output_option,
    read_one,
    require_free,
    summary_line,
    train_command,
)
from reid_core.cli.data.source import SourceArguments, source_options


@click.command("convert", context_settings=CONTEXT)
@source_options
@output_option
@click.option(
    "--copy",
    "copy_to",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Copy the images below this folder; the table then names the copies.",
)
@force_option
@reports_errors
def convert_command(
    source: SourceArguments, output: Path, copy_to: Path | None, force: bool
) -> int:
    """Write a data set as a table: one line an image, every column, the splits it has.

    Paths are relative to the table's folder, with forward slashes. The images stay where they are
    unless --copy says otherwise.
    """
    from reid_core.data.manifest_table import copy_images, require_ending, write_manifest

    require_ending(output)
    require_free(output, force=force)
    if copy_to is not None:
        require_free(copy_to, force=force, option="--copy")
    manifest = read_one(source)
    echo_notes(manifest)
    if copy_to is not None:
        manifest = copy_images(manifest, copy_to)
    write_manifest(manifest, output)
    click.echo(f"wrote {summary_line(output, manifest)}")
    if manifest.count("train").images and manifest.count("query").images:
        click.echo(f"next  {train_command(output, manifest)}")
    elif manifest.count("train").images:
        click.echo(f"next  reid-data split {shlex.quote(str(output))} -o split.csv")
    else:
        click.echo(f"use   data.test={as_component(output, manifest)}")
    return 0
