"""From the rows that a reader collects to the manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reid_core.data.manifest import Count, IdArray, Manifest, Split, no_cameras
from reid_core.errors import DataError
from reid_plugin_datasets.folders import Matches, nothing_usable


class Row(NamedTuple):
    """One image.

    Args:
        path: Relative to the root, with forward slashes.
        pid: The identity, as the source names it.
        camid: The camera, as the source names it; 0 where it is not known.
        split: What the image is for.
    """

    path: str
    pid: int | str
    camid: int | str = 0
    split: Split = "train"


def manifest_of(
    rows: Sequence[Row],
    *,
    dataset: str,
    root: Path,
    title: str | None = None,
    matches: Sequence[Matches] = (),
    notes: Sequence[str] = (),
    expected: Mapping[str, Count] | None = None,
    has_cameras: bool = True,
    distractors: tuple[int, ...] = (),
    columns: Mapping[str, Sequence[object] | NDArray[np.generic]] | None = None,
) -> Manifest:
    """Build the manifest of rows.

    Args:
        rows: The images, in the order of the manifest.
        dataset: The component's name, for messages.
        root: Folder that the paths are relative to.
        title: The manifest's name; None is ``dataset``.
        matches: What the folders held; what was ignored in them is noted.
        notes: Further facts worth showing.
        expected: The published counts, by split.
        has_cameras: False where the source does not say which camera took an image; the cameras of
            the rows are then not used.
        distractors: Identities that stand for nobody.
        columns: Further facts by name, a value for each row.

    Returns:
        The manifest; identities and cameras as int64 if all are integers, else as text.

    Raises:
        DataError: There is no row.
    """
    if not rows:
        raise DataError(nothing_usable(dataset, matches))
    return Manifest(
        name=title or dataset,
        root=root,
        paths=np.array([row.path for row in rows]),
        pids=_ids([row.pid for row in rows]),
        camids=_ids([row.camid for row in rows]) if has_cameras else no_cameras(len(rows)),
        splits=np.array([row.split for row in rows]),
        notes=(*notes, *_ignored(matches)),
        columns={name: np.asarray(values) for name, values in (columns or {}).items()},
        has_cameras=has_cameras,
        distractors=distractors,
        expected=expected or {},
    )


def _ids(values: Sequence[int | str]) -> IdArray:
    if all(isinstance(value, int) for value in values):
        return np.array(values, dtype=np.int64)
    return np.array([str(value) for value in values])


def _ignored(matches: Sequence[Matches]) -> list[str]:
    notes = []
    misnamed = [(name, one.example) for one in matches for name in one.misnamed]
    if misnamed:
        name, example = misnamed[0]
        notes.append(
            f"{len(misnamed)} images ignored, whose names are not like {example}, for example "
            f"{name}"
        )
    stray = sum(one.stray for one in matches)
    if stray:
        notes.append(f"{stray} stray files and folders ignored")
    return notes
