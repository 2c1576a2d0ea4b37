"""``reid-data preview``: a contact sheet by identity and camera."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reid_core.cli.common import CONTEXT, reports_errors
from reid_core.cli.data.output import echo_notes, force_option, read_one, require_free
from reid_core.cli.data.source import SourceArguments, source_options
from reid_core.errors import DataError, UsageError
from reid_core.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reid_core.data.manifest import Manifest
    from reid_core.report.contact_sheet.choice import SheetRow

_ENDINGS = (".png", ".html")


@click.command("preview", context_settings=CONTEXT)
@source_options
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    required=True,
    help="Sheet to write; ends in .png or .html.",
)
@click.option(
    "--identities",
    metavar="N",
    type=click.IntRange(min=1),
    default=12,
    help="Identities, one a row (default 12).",
)
@click.option(
    "--images",
    metavar="K",
    type=click.IntRange(min=1),
    default=8,
    help="Images of each; its cameras take turns (default 8).",
)
@click.option(
    "--split",
    metavar="S",
    type=click.Choice(["train", "query", "gallery"]),
    help="Only one split: train, query, gallery.",
)
@click.option("--seed", metavar="N", type=int, default=0, help="Another seed, another choice.")
@force_option
@reports_errors
def preview_command(
    source: SourceArguments,
    output: Path,
    identities: int,
    images: int,
    split: str | None,
    seed: int,
    force: bool,
) -> int:
    """Draw a contact sheet: one row an identity, its images labelled with camera and split.

    Images are read as training reads them, boxes are cut out. What cannot be read is drawn as
    broken. A page needs no other file.
    """
    if output.suffix.lower() not in _ENDINGS:
        raise UsageError(f"-o {output}: expected a name that ends in {' or '.join(_ENDINGS)}")
    require_free(output, force=force)
    manifest = _part(read_one(source), split)
    echo_notes(manifest)
    from reid_core.report.contact_sheet import page, png
    from reid_core.report.contact_sheet.choice import sheet_rows

    is_page = output.suffix.lower() == ".html"
    size = page.PICTURE if is_page else png.CELL
    rows = sheet_rows(manifest, identities=identities, images=images, size=size, seed=seed)
    who = counted(len(manifest.identities), "identity", "identities")
    text = f"{len(rows)} of {who}, drawn with seed {seed}"
    _write(output, rows, manifest, text)
    shown = sum(len(row.images) for row in rows)
    broken = [one.problem for row in rows for one in row.images if one.problem]
    click.echo(f"drawn {output}: {counted(shown, 'image')} of {text}")
    if broken:
        click.echo(f"{len(broken)} of them cannot be read, for example: {broken[0]}", err=True)
        click.echo("'reid-data check' lists every one", err=True)
    return 0


def _part(manifest: Manifest, split: str | None) -> Manifest:
    from reid_core.data.manifest import SPLITS

    name = next((one for one in SPLITS if one == split), None)
    if name is None:
        return manifest
    part = manifest.select(name)
    if len(part) == 0:
        raise DataError(f"data set {manifest.name}: it has no {name} images; leave --split out")
    return part


def _write(output: Path, rows: Sequence[SheetRow], manifest: Manifest, text: str) -> None:
    from reid_core.checkpoint.atomic import write_bytes_atomically
    from reid_core.report.contact_sheet.page import sheet_page
    from reid_core.report.contact_sheet.png import draw_sheet

    if output.suffix.lower() == ".html":
        content = sheet_page(rows, title=manifest.name, text=text).encode()
    else:
        buffer = io.BytesIO()
        draw_sheet(rows, title=f"{manifest.name}: {text}").save(buffer, format="PNG", optimize=True)
        content = buffer.getvalue()
    try:
        write_bytes_atomically(output, content)
    except OSError as error:
        raise DataError(f"{output} cannot be written: {error.strerror or error}") from error
