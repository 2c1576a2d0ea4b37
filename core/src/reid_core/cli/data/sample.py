"""``reid-data sample``: a small part of a data set, for trials."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import click

from reid_core.cli.common import CONTEXT, reports_errors
from reid_core.cli.data.output import (
    echo_notes,
    force_option,
    output_option,
    plain_counts,
    read_one,
    require_free,
    summary_line,
    train_command,
)
from reid_core.cli.data.source import SourceArguments, source_options


@click.command("sample", context_settings=CONTEXT)
@source_options
@output_option
@click.option(
    "--identities",
    metavar="N",
    type=click.IntRange(min=2),
    default=20,
    help="Identities of training, and as many of test (default 20).",
)
@click.option(
    "--images",
    metavar="K",
    type=click.IntRange(min=2),
    default=8,
    help="Images of an identity in each split (default 8).",
)
@click.option("--seed", metavar="N", type=int, default=0, help="Another seed, another part.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@force_option
@reports_errors
def sample_command(
    source: SourceArguments,
    output: Path,
    identities: int,
    images: int,
    seed: int,
    as_json: bool,
    force: bool,
) -> int:
    """Write a small part of a data set as a table, for trials.

    Splits stay as they are, and each query keeps a match. The same seed draws the same part on
    every machine.
    """
    from reid_core.data.manifest_table import require_ending, write_manifest
    from reid_core.data.subset import subset

    require_ending(output)
    require_free(output, force=force)
    manifest = read_one(source)
    part = subset(manifest, identities=identities, images=images, seed=seed)
    write_manifest(part, output)
    if as_json:
        plain = {
            "schema": 1,
            "file": str(output),
            "seed": seed,
            "notes": list(manifest.notes),
            "splits": plain_counts(part),
        }
        click.echo(json.dumps(plain, indent=2, ensure_ascii=False))
        return 0
    echo_notes(manifest)
    click.echo(f"wrote {summary_line(output, part)}")
    if part.count("query").images:
        click.echo(f"next  {train_command(output, part)}")
    else:
        click.echo(f"next  reid-data split {shlex.quote(str(output))} -o split.csv")
    return 0
