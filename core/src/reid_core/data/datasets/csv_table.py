"""A CSV file with one line an image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from reid_core.data.datasets.missing_places import require_file
from reid_core.data.datasets.split_names import SplitNames
from reid_core.data.datasets.tables.csv_file import read_csv
from reid_core.data.datasets.tables.rows import NoBox, RowOptions, manifest_of
from reid_core.data.manifest import Manifest, Split
from reid_core.paths import resolve_root


def csv_table(
    file: str | Path,
    *,
    root: str | Path | None = None,
    columns: Mapping[str, str | None] | None = None,
    splits: Mapping[str, Split | None] | None = None,
    delimiter: str | None = None,
    no_box: NoBox = "whole",
    distractors: Sequence[int] = (),
    title: str | None = None,
) -> Manifest:
    """Read a CSV file with one line an image.

    The first line names the columns. ``path`` and ``pid`` are needed. Without ``camid`` the data
    knows no cameras; without ``split`` all rows are trained on. A box is ``x``, ``y``, ``w`` and
    ``h`` in pixels, or ``bbox``, ``[x, y, w, h]``. Every other column is kept: as numbers where all
    its values are numbers, else as text. A column whose first value stands in quotes is text.
    OpenMetricLearning's tables are read as they are.

    Whether the images are there is looked up for a few of them only.

    Args:
        file: The table: UTF-8, with commas, semicolons, tabs or bars between the values. A relative
            path is also looked for under ``REID_DATASETS``.
        root: The folder that relative paths start at; null is the table's.
        columns: What the table calls a column, ``{pid: label}``; null ignores the column.
        splits: What its own names of splits stand for, ``{val: gallery}``; null leaves those rows
            out.
        delimiter: What is between the values; null finds it in the first line.
        no_box: What a row without a box is, in a table with boxes: the ``whole`` image, or left
            out, ``drop``.
        distractors: Identities that stand for nobody.
        title: What the data is called in results; null is the file's name.

    Returns:
        The manifest, in the order of the table. Identities and cameras are integers where all are
        written so, without leading zeros or quotes, and text otherwise.

    Raises:
        ConfigError: ``splits`` or ``delimiter`` cannot be.
        DataError: The table is not there or cannot be understood, or its images are not there.
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
    table = read_csv(place, what=f"{what} ({place})", delimiter=delimiter, columns=columns)
    return manifest_of(table, options, name=name, file=place)
