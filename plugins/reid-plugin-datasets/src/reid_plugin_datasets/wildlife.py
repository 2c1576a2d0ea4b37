"""Animals by a table of metadata, as wildlife re-identification sets come."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from reid_core.data.manifest import Manifest, Split, no_cameras, text_column
from reid_core.errors import ConfigError, DataError
from reid_plugin_datasets.folders import find_folder
from reid_plugin_datasets.listed import require_images
from reid_plugin_datasets.table import Table, read_table

Unknown = Literal["drop", "gallery"]

#: What tables call a split.
_SPLITS: dict[str, Split] = {
    "train": "train",
    "query": "query",
    "gallery": "gallery",
    "database": "gallery",
}


def wildlife(
    root: str | Path,
    metadata: str = "metadata.csv",
    title: str = "wildlife",
    camera: str | None = None,
    split: str | None = None,
    unknown: Unknown = "drop",
) -> Manifest:
    """Read animals from a table of metadata, one row an image of an animal.

    The table is CSV with a line of headings, of which ``identity`` and ``path`` are needed: the
    individual, and the image below ``root``. Of the others these are read, where they are there:

    - ``bbox``: ``[x, y, width, height]`` in pixels; an empty one means the whole image;
    - ``date``: in ISO's form, ``2021-05-03`` or ``2021-05-03 14:07:11``; column ``times``;
    - ``orientation``, or else ``position``: the side that is seen, numbered in sorted order; column
      ``viewids``;
    - ``species``.

    Without a column of splits all is for training; ``reid-data split`` cuts it, by identity for an
    open set, by time or at random.

    Args:
        root: The folder that the table and the paths start from. A relative path is also looked for
            under ``REID_DATASETS``.
        metadata: The table, in ``root``.
        title: What the data is called in results; give each set its own.
        camera: Column that says which camera, station or encounter an image is from; None where
            that is not known.
        split: Column of ``train``, ``query`` and ``gallery`` or ``database``; None where there is
            none.
        unknown: What becomes of images whose identity is ``unknown`` or empty: left out, or, of the
            gallery, kept there, where they match no query.

    Returns:
        The manifest, in the order of the table; identities and cameras as text.

    Raises:
        ConfigError: Another value of ``unknown``.
        DataError: Table, column or images are not there, or an entry cannot be read.

    Source: Čermák et al., WildlifeDatasets: An Open-source Toolkit for Animal Re-identification,
        WACV 2024.
    """
    if unknown not in get_args(Unknown):
        raise ConfigError(
            f"data set wildlife: unknown is {unknown!r}; expected one of "
            f"{', '.join(get_args(Unknown))}"
        )
    folder = find_folder(root, dataset="wildlife", nested=(), expected=(metadata,))
    table = read_table(folder / metadata, dataset="wildlife")
    splits = _splits(table, split)
    identities = ["" if _is_unknown(text) else text for text in table.column("identity")]
    rows = [
        row
        for row, identity in enumerate(identities)
        if identity or (unknown == "gallery" and splits[row] == "gallery")
    ]
    if not rows:
        raise DataError(
            f"data set wildlife: all {len(table)} images of {table.path} are of unknown identity; "
            "expected names in the column identity"
        )
    paths = _paths(table)
    camids = None if camera is None else table.column(camera)
    columns, notes = _columns(table, rows)
    dropped = len(table) - len(rows)
    if dropped:
        notes.append(f"{dropped} images of unknown identity left out")
    kept = [paths[row] for row in rows]
    notes += require_images(folder, kept, dataset="wildlife", source=metadata)
    return Manifest(
        name=title,
        root=folder,
        paths=text_column(kept),
        pids=np.array([identities[row] or "unknown" for row in rows]),
        camids=no_cameras(len(rows)) if camids is None else np.array([camids[r] for r in rows]),
        splits=np.array([splits[row] for row in rows]),
        notes=tuple(notes),
        columns=columns,
        has_cameras=camids is not None,
    )


def _is_unknown(identity: str) -> bool:
    return identity.casefold() in ("", "unknown", "nan")


def _splits(table: Table, name: str | None) -> list[Split]:
    if name is None:
        return ["train"] * len(table)
    texts = [text.casefold() for text in table.column(name)]
    others = Counter(text for text in texts if text not in _SPLITS)
    if others:
        found = ", ".join(f"{text!r} ({count} images)" for text, count in sorted(others.items()))
        raise DataError(
            f"data set wildlife: column {name} of {table.path} holds {found}; expected "
            f"{', '.join(_SPLITS)}; or leave split out, and cut the set with 'reid-data split'"
        )
    return [_SPLITS[text] for text in texts]


def _paths(table: Table) -> list[str]:
    paths = [path.replace("\\", "/") for path in table.column("path")]
    for row, path in enumerate(paths):
        if not path or path.startswith("/") or ":" in path[:2]:
            raise table.wrong(row, "path", "the image's path below root, like images/a/001.jpg")
    return paths


def _columns(table: Table, rows: Sequence[int]) -> tuple[dict[str, NDArray[np.generic]], list[str]]:
    """Return the further columns of the rows that are kept, and notes on them."""
    columns: dict[str, NDArray[np.generic]] = {}
    notes: list[str] = []
    if "bbox" in table.columns:
        boxes = np.array([_box(table, row) for row in rows], dtype=np.float64).reshape(-1, 4)
        columns["boxes"] = boxes
        if whole := int(np.isnan(boxes[:, 0]).sum()):
            notes.append(f"{whole} images without a box are taken whole")
    if "date" in table.columns:
        texts = [table.columns["date"][row] for row in rows]
        times = np.array([_seconds(text) for text in texts], dtype=np.float64)
        columns["times"] = times
        if (unread := np.flatnonzero(np.isnan(times))).size:
            notes.append(
                f"{unread.size} images have no date like 2021-05-03 or 2021-05-03 14:07:11, for "
                f"example {texts[unread[0]]!r}"
            )
    side = next((name for name in ("orientation", "position") if name in table.columns), None)
    if side is not None:
        names, viewids = np.unique(
            [table.columns[side][row] or "unknown" for row in rows], return_inverse=True
        )
        columns["viewids"] = viewids.astype(np.int64)
        shown = ", ".join(f"{number} {name}" for number, name in enumerate(names[:12].tolist()))
        notes.append(f"viewids: {shown}{', …' if len(names) > 12 else ''}")
    if "species" in table.columns:
        columns["species"] = np.array([table.columns["species"][row] for row in rows])
        notes += _several_species(table, rows)
    return columns, notes


def _box(table: Table, row: int) -> list[float]:
    text = table.columns["bbox"][row]
    if text.strip("[]() ").casefold() in ("", "nan", "none"):
        return [math.nan] * 4
    try:
        x, y, width, height = map(float, re.split(r"[,;\s]+", text.strip("[]() ")))
    except ValueError:
        raise table.wrong(row, "bbox", "[x, y, width, height] in pixels, or nothing") from None
    if not (width > 0 and height > 0 and math.isfinite(x + y + width + height)):
        raise table.wrong(row, "bbox", "a box of some width and height, or nothing")
    return [x, y, width, height]


def _seconds(date: str) -> float:
    """Return seconds since 1970, NaN for what is no date; a date without a zone is UTC."""
    try:
        parsed = datetime.fromisoformat(date)
    except ValueError:
        return math.nan
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()


def _several_species(table: Table, rows: Sequence[int]) -> list[str]:
    species: dict[str, set[str]] = {}
    for row in rows:
        identity = table.columns["identity"][row]
        if not _is_unknown(identity):
            species.setdefault(identity, set()).add(table.columns["species"][row])
    several = sorted(identity for identity, found in species.items() if len(found) > 1)
    if not several:
        return []
    return [
        f"{len(several)} identities are of several species, for example {several[0]}: "
        f"{', '.join(sorted(species[several[0]]))}; they are taken for one individual"
    ]
