"""``reid-data pack``: all images of a data set in one file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reid_core.cli.common import CONTEXT, reports_errors
from reid_core.cli.data.output import echo_notes
from reid_core.cli.data.source import SourceArguments, read_source, source_options
from reid_core.errors import UsageError
from reid_core.wording import counted

if TYPE_CHECKING:
    from reid_core.data.manifest import Manifest
    from reid_core.data.packing import PackReport, Recoding

_SIZE = re.compile(r"([0-9]+)x([0-9]+)")


@click.command("pack", context_settings=CONTEXT)
@source_options
@click.option(
    "-o", "--output", metavar="FOLDER", required=True, help="Where to; a folder that is not there."
)
@click.option("--size", metavar="HxW", help="Stretch each image to this height and width.")
@click.option(
    "--max-side",
    metavar="N",
    type=click.IntRange(min=1),
    help="Shrink what is larger to N pixels on its longer side.",
)
@click.option(
    "--quality",
    metavar="N",
    type=click.IntRange(1, 100),
    default=95,
    show_default=True,
    help="JPEG quality of images that are changed.",
)
@reports_errors
def pack_command(
    source: SourceArguments, output: str, size: str | None, max_side: int | None, quality: int
) -> int:
    """Put all images of a data set into one file.

    Images keep the bytes of their files, and results are the same. With --size or --max-side, or
    where rows have boxes, changed images are stored as JPEG, which loses a little. The data set
    component packed reads the folder.

    \b
    reid-data pack my/data -o my/packed
    reid-train --config osnet/osnet_x0_25 --set 'data.train={name: packed, root: my/packed}'
    """  # noqa: D301
    from reid_core.data.packing import pack

    manifest = _only(read_source(source))
    echo_notes(manifest)
    report = pack(manifest, Path(output), _recoding(size, max_side, quality))
    click.echo(_line(report))
    return 0


def _recoding(size: str | None, max_side: int | None, quality: int) -> Recoding:
    from reid_core.data.packing import Recoding

    if size is None:
        return Recoding(max_side=max_side, quality=quality)
    if max_side is not None:
        raise UsageError(
            "--size and --max-side exclude each other: the one changes the aspect ratio, the other "
            "keeps it"
        )
    match = _SIZE.fullmatch(size)
    height, width = (int(match[1]), int(match[2])) if match else (0, 0)
    if height == 0 or width == 0:
        raise UsageError(f"--size {size!r}: expected height x width in pixels, such as 256x128")
    return Recoding(size=(height, width), quality=quality)


def _only(manifests: list[Manifest]) -> Manifest:
    if len(manifests) > 1:
        names = ", ".join(f"{manifest.name} ({manifest.root})" for manifest in manifests)
        raise UsageError(
            f"SOURCE names {len(manifests)} data sets: {names}; pack each on its own, by its path"
        )
    return manifests[0]


def _line(report: PackReport) -> str:
    kept = report.num_images - report.num_recoded
    return (
        f"{report.folder}: {counted(report.num_images, 'image')}, {kept} of them as they were, "
        f"{report.num_bytes / 2**20:.1f} MiB in {report.num_bytes_on_disk / 2**20:.1f} MiB on disk"
    )
