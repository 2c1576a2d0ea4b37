"""A Parquet file with one row an image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from reid_core.data.datasets.missing_places import require_file
from reid_core.data.datasets.split_names import SplitNames
from reid_core.data.datasets.tables.parquet_file import read_parquet
from reid_core.data.datasets.tables.rows import NoBox, RowOptions, manifest_of
from reid_core.data.manifest import Manifest, Split
from reid_core.paths import resolve_root


def parquet(
    file: str | Path,
    *,
    root: str | Path | None = None,
    columns: Mapping[str, str | None] | None = None,
    splits: Mapping[str, Split | None] | None = None,
    no_box: NoBox = "whole",
    distractors: Sequence[int] = (),
    title: str | None = None,
) -> Manifest:
    """Read a Parquet file with one row an image; needs the extra ``parquet``.

    The columns are those of a CSV file. Types are the file's own: text stays text, integers stay
    integers, lists of one length are a column (N, K), and points in time become seconds since 1970
    in UTC. A value that is null is missing.

    Args:
        file: The table. A relative path is also looked for under ``REID_DATASETS``.
        root: The folder that relative paths start at; null is the table's.
        columns: What the table calls a column, ``{pid: label}``; null ignores the column.
        splits: What its own names of splits stand for, ``{val: gallery}``; null leaves those rows
            out.
        no_box: What a row without a box is, in a table with boxes: the ``whole`` image, or left
            out, ``drop``.
        distractors: Identities that stand for nobody.
        title: What the data is called in results; null is the file's name.

    Returns:
        The manifest, in the order of the table.

    Raises:
        ConfigError: ``splits`` cannot be.
        DataError: pyarrow is missing, the table is not there or cannot be understood, or its
            images are not there.
    """
    place = resolve_root(file)
    name = title or place.stem
    what = f"data set {name}"
    require_file(place, what=what, advice="set file to the table")
    options = RowOptions(
        root=None if root is None else Path(root),
        splits=SplitNames(splits, what=what),
        no_box=no_box,
        distractors=distractors,
    )
    table = read_parquet(place, what=f"{what} ({place})", columns=columns)
    return manifest_of(table, options, name=name, file=place)
