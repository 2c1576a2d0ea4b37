"""``reid-data stats``: what a data set holds, in numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from reid_core.cli.common import CONTEXT, reports_errors
from reid_core.cli.data.source import SourceArguments, read_source, source_options
from reid_core.wording import counted

if TYPE_CHECKING:
    from reid_core.data.image_sizes import ImageSizes
    from reid_core.data.manifest import Manifest
    from reid_core.data.statistics import ColumnStats, SplitStats, Spread

#: Cameras that are listed one by one.
_MAX_CAMERAS = 24


@click.command("stats", context_settings=CONTEXT)
@source_options
@click.option("--no-images", is_flag=True, help="Leave out the sizes: opens no image.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@reports_errors
def stats_command(source: SourceArguments, no_images: bool, as_json: bool) -> int:
    """Count images, identities and cameras of each split, and describe further columns.

    Sizes come from the headers of the files; of more than 20,000 images a part is looked at.
    """
    from reid_core.data.image_sizes import image_sizes

    manifests = read_source(source)
    sizes = [None if no_images else image_sizes(manifest) for manifest in manifests]
    pairs = list(zip(manifests, sizes, strict=True))
    if as_json:
        plain = {"schema": 1, "sets": [_plain(*pair) for pair in pairs]}
        click.echo(json.dumps(plain, indent=2, ensure_ascii=False))
        return 0
    for position, pair in enumerate(pairs):
        if position:
            click.echo()
        for line in _text(*pair):
            click.echo(line)
    return 0


def _plain(manifest: Manifest, sizes: ImageSizes | None) -> dict[str, object]:
    from reid_core.data.statistics import column_stats, split_stats

    return {
        "name": manifest.name,
        "root": str(manifest.root),
        "has_cameras": manifest.has_cameras,
        "notes": list(manifest.notes),
        "splits": [asdict(one) for one in split_stats(manifest)],
        "columns": [asdict(one) for one in column_stats(manifest)],
        "sizes": None if sizes is None else _plain_sizes(sizes),
    }


def _plain_sizes(sizes: ImageSizes) -> dict[str, object]:
    spreads = {name: asdict(one) if one else None for name, one in _spreads(sizes)}
    return {
        "looked_at": sizes.looked_at,
        "unreadable": sizes.unreadable,
        "example": sizes.example,
        **spreads,
    }


def _spreads(sizes: ImageSizes) -> Iterator[tuple[str, Spread | None]]:
    from reid_core.data.statistics import Spread

    width, height = sizes.sizes[:, 0], sizes.sizes[:, 1]
    yield "width", Spread.of(width)
    yield "height", Spread.of(height)
    yield "aspect", Spread.of(height / width.clip(1))


def _text(manifest: Manifest, sizes: ImageSizes | None) -> Iterator[str]:
    from reid_core.data.statistics import column_stats, split_stats

    yield f"{manifest.name} ({manifest.root})"
    for note in manifest.notes:
        yield f"  note: {note}"
    for split in split_stats(manifest):
        yield from _split(split, has_cameras=manifest.has_cameras)
    for column in column_stats(manifest):
        yield f"  column {column.name}: {_column(column)}"
    if sizes is not None:
        yield from _sizes(sizes, len(manifest))


def _split(split: SplitStats, *, has_cameras: bool) -> Iterator[str]:
    cameras = counted(len(split.cameras), "camera") if has_cameras else "cameras not known"
    distractors = f", {counted(split.distractors, 'distractor')}" if split.distractors else ""
    yield (
        f"  {split.split}: {counted(split.images, 'image')} of "
        f"{counted(split.identities, 'identity', 'identities')}{distractors}, {cameras}"
    )
    yield f"    images per identity: {_spread(split.images_per_identity)}"
    if not has_cameras:
        return
    yield f"    cameras per identity: {_spread(split.cameras_per_identity)}"
    for camera in split.cameras[:_MAX_CAMERAS]:
        yield (
            f"    camera {camera.camera}: {counted(camera.images, 'image')} of "
            f"{counted(camera.identities, 'identity', 'identities')}"
        )
    if len(split.cameras) > _MAX_CAMERAS:
        more = counted(len(split.cameras) - _MAX_CAMERAS, "more camera")
        yield f"    and {more}; --json lists them all"


def _spread(spread: Spread | None) -> str:
    if spread is None:
        return "none"
    return (
        f"{spread.minimum:g} to {spread.maximum:g}, median {spread.median:g}, "
        f"mean {spread.mean:.2f}"
    )


def _column(column: ColumnStats) -> str:
    shape = f" of shape {column.shape}" if column.shape else ""
    parts = [f"{column.dtype}{shape}"]
    if column.minimum is not None:
        parts.append(f"{column.minimum:g} to {column.maximum:g}")
    if column.distinct is not None:
        parts.append(f"{column.distinct} different")
    if column.values:
        more = ", …" if (column.distinct or 0) > len(column.values) else ""
        parts.append(f"{', '.join(column.values)}{more}")
    if column.missing:
        parts.append(f"{counted(column.missing, 'image')} without")
    return "; ".join(parts)


def _sizes(sizes: ImageSizes, num_rows: int) -> Iterator[str]:
    part = (
        f"{sizes.looked_at} of {counted(num_rows, 'image')}"
        if sizes.looked_at < num_rows
        else "all images"
    )
    yield f"  sizes in pixels, from the headers of {part}:"
    for name, spread in _spreads(sizes):
        if spread is not None:
            label = "height / width" if name == "aspect" else name
            yield (
                f"    {label}: {spread.minimum:.4g} to {spread.maximum:.4g}, "
                f"median {spread.median:.4g}"
            )
    if sizes.unreadable:
        yield (
            f"    {sizes.unreadable} could not be opened, for example {sizes.example}; "
            "'reid-data check' says why"
        )
