"""``reid-data split``: cut a data set into train, query and gallery."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reid_core.cli.common import CONTEXT, reports_errors
from reid_core.cli.data.output import (
    echo_notes,
    force_option,
    output_option,
    plain_counts,
    require_free,
    summary_line,
    train_command,
)
from reid_core.cli.data.source import SourceArguments, source_options
from reid_core.cli.data.splits_aside import read_without_splits
from reid_core.data.splitting.rule import Leftover, SplitBy, SplitRule
from reid_core.errors import DataError, UsageError
from reid_core.wording import counted

if TYPE_CHECKING:
    from reid_core.data.manifest import Manifest
    from reid_core.data.splitting.cut import Cut

#: Examples of one spelling that are shown.
_SHOWN = 3


@click.command("split", context_settings=CONTEXT)
@source_options
@output_option
@click.option(
    "--by",
    metavar="HOW",
    type=click.Choice(["identity", "camera", "time"]),
    default="identity",
    help="identity (default): people of the test are not trained on. camera: nor are some cameras. "
    "time: earlier images are trained on and searched, later ones are queries.",
)
@click.option(
    "--test",
    metavar="SHARE|N",
    type=float,
    default=0.3,
    help="Identities to test, of those that can be: a share, or a number (default 0.3).",
)
@click.option(
    "--query",
    metavar="N",
    type=int,
    default=1,
    help="Queries for each test identity and camera (default 1).",
)
@click.option(
    "--val",
    metavar="SHARE|N",
    type=float,
    help="Also write FILE_val: the training part, cut once more by identity, to choose settings.",
)
@click.option(
    "--cameras", metavar="A,B", help="Cameras to hold out with --by camera; without it some."
)
@click.option(
    "--open-set",
    metavar="SHARE",
    type=float,
    default=0.0,
    help="Test identities that are unknown: queries with no image in the gallery (default 0).",
)
@click.option(
    "--leftover",
    metavar="WHERE",
    type=click.Choice(["train", "gallery", "drop"]),
    default="train",
    help="Where identities go that cannot be tested: train (default), gallery, drop.",
)
@click.option(
    "--ignore-cameras", is_flag=True, help="Cut as if cameras were not known, and write none."
)
@click.option(
    "--mix-times", is_flag=True, help="Without cameras: queries may be next to gallery in time."
)
@click.option("--seed", metavar="N", type=int, default=0, help="Another seed, another cut.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@force_option
@reports_errors
def split_command(
    source: SourceArguments,
    output: Path,
    by: SplitBy,
    test: float,
    query: int,
    val: float | None,
    cameras: str | None,
    open_set: float,
    leftover: Leftover,
    ignore_cameras: bool,
    mix_times: bool,
    seed: int,
    as_json: bool,
    force: bool,
) -> int:
    """Cut a data set into train, query and gallery, and write it as a table.

    Splits that the data has are left aside. Identities of the test are never trained on, and each
    query has a match: in another camera where cameras are known. The same seed cuts the same way on
    every machine.
    """
    rule = SplitRule(
        by=by,
        test=test,
        query=query,
        open_set=open_set,
        leftover=leftover,
        cameras=tuple(one.strip() for one in cameras.split(",")) if cameras else (),
        mix_times=mix_times,
        seed=seed,
    )
    validation = _validation_rule(rule, val)
    from reid_core.data.manifest_table import require_ending

    beside = output.with_name(f"{output.stem}_val{output.suffix}")
    targets = [output] if validation is None else [output, beside]
    for path in targets:
        require_ending(path)
        require_free(path, force=force)
    manifest = read_without_splits(source)
    warnings = _spelling(manifest)
    cuts = _cut(manifest, rule, validation, ignore_cameras=ignore_cameras)
    from reid_core.data.manifest_table import write_manifest

    for path, done in zip(targets, cuts, strict=True):
        write_manifest(done.manifest, path)
    if as_json:
        tables = [_plain(path, done) for path, done in zip(targets, cuts, strict=True)]
        plain = {
            "schema": 1,
            "by": by,
            "seed": seed,
            "notes": list(manifest.notes),
            "warnings": warnings,
            "tables": tables,
        }
        click.echo(json.dumps(plain, indent=2, ensure_ascii=False))
        return 0
    echo_notes(manifest, warnings)
    for path, done in zip(targets, cuts, strict=True):
        for line in _text(path, done):
            click.echo(line)
    click.echo(f"next  {train_command(output, cuts[0].manifest)}")
    return 0


def _validation_rule(rule: SplitRule, val: float | None) -> SplitRule | None:
    if val is None:
        return None
    if not 0 < val < 1 and not (val >= 1 and val.is_integer()):
        raise UsageError(
            f"--val {val:g}: expected a share between 0 and 1, or a whole number of identities"
        )
    return replace(rule, by="identity", test=val, cameras=(), open_set=0.0, leftover="train")


def _spelling(manifest: Manifest) -> list[str]:
    """Return what looks like one identity or camera that is spelled in several ways."""
    from reid_core.doctor.identities import check_spelling

    return [
        f"{found.message}, for example {'; '.join(found.examples[:_SHOWN])}; {found.advice}"
        for found in check_spelling(manifest)
    ]


def _cut(
    manifest: Manifest, rule: SplitRule, validation: SplitRule | None, *, ignore_cameras: bool
) -> list[Cut]:
    from reid_core.data.manifest import no_cameras
    from reid_core.data.splitting.cut import cut

    if ignore_cameras:
        manifest = replace(manifest, camids=no_cameras(len(manifest)), has_cameras=False)
    cuts = [cut(manifest, rule)]
    if validation is not None:
        try:
            cuts.append(cut(cuts[0].manifest.select("train"), validation))
        except DataError as error:
            error.add_note("this is --val, which cuts the training part once more")
            raise
    return cuts


def _text(path: Path, done: Cut) -> Iterator[str]:
    yield f"wrote {summary_line(path, done.manifest)}"
    for remark in done.remarks:
        yield f"      {remark}"
    if done.unknown:
        yield f"      unknown in the test: {done.unknown}, with queries and no image in the gallery"
    if done.leftover:
        who = counted(done.leftover, "identity", "identities")
        yield f"      {who} cannot be tested: {done.leftover_reason}"
    for reason, number in sorted(done.left_out.items()):
        yield f"      left out: {counted(number, 'image')} {reason}"
    if not done.manifest.has_cameras:
        yield "      cameras are not known: a query's matches may be of its own camera"


def _plain(path: Path, done: Cut) -> dict[str, object]:
    return {
        "file": str(path),
        "splits": plain_counts(done.manifest),
        "unknown_identities": done.unknown,
        "leftover_identities": done.leftover,
        "left_out": dict(sorted(done.left_out.items())),
        "remarks": list(done.remarks),
    }
