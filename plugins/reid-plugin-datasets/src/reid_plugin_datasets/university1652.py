"""University-1652: buildings seen by satellites, by drones and from the street."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, get_args

from reid_core.data.manifest import Count, Manifest, Split
from reid_core.errors import ConfigError
from reid_plugin_datasets.folders import Matches, find_folder, matching
from reid_plugin_datasets.rows import Row, manifest_of

View = Literal["satellite", "drone", "street", "google"]
Task = Literal[
    "drone_to_satellite",
    "satellite_to_drone",
    "street_to_satellite",
    "satellite_to_street",
    "street_to_drone",
    "drone_to_street",
]

_VIEWS: tuple[View, ...] = get_args(View)
_TASKS: tuple[Task, ...] = get_args(Task)
_IMAGE = re.compile(r"([^/]+)/[^/]+$")
#: Published counts of the training images, by view; those of Google are not stated.
_TRAIN_IMAGES = {"satellite": 701, "drone": 37854, "street": 11663}
_QUERY = {"satellite": 701, "drone": 37855, "street": 2579}
_GALLERY = {
    "satellite": Count(951, 951),
    "drone": Count(51355, 951),
    "street": Count(2921, 793),
}


def university1652(
    root: str | Path,
    task: Task = "drone_to_satellite",
    train_views: tuple[View, ...] = ("satellite", "drone", "street"),
) -> Manifest:
    """Read University-1652.

    An image lies in a folder of its view and building: ``train/drone/0839/image-01.jpeg``,
    ``test/query_drone/0001/…``, ``test/gallery_satellite/0001/…``. An identity is a building. The
    gallery also holds 250 buildings that no query shows.

    Every match is in another view than the query, so none has to be left out: there are no cameras
    here. The column ``viewids`` says the view: 0 satellite, 1 drone, 2 street, 3 pictures of the
    street that a search engine found, noisy.

    Args:
        root: The folder with ``train`` and ``test``, or the one above ``University-1652`` or
            ``University-Release``. A relative path is also looked for under ``REID_DATASETS``.
        task: View of the queries, and view of the gallery.
        train_views: Views that are trained on, each once.

    Returns:
        The manifest, without cameras; identities are the folders' names. In the order train, query,
        gallery; of the training in that of ``train_views``; files sorted.

    Raises:
        ConfigError: Another ``task``, or a view that there is not, or twice.
        DataError: The folders are not there, or one holds no image in a folder of its building.

    Source: Zheng et al., University-1652: A Multi-view Multi-source Benchmark for Drone-based
        Geo-localization, ACM Multimedia 2020.
    """
    _check(task, train_views)
    seen, searched = task.split("_to_")
    places: list[tuple[str, str, Split]] = [
        *((f"train/{view}", view, "train") for view in train_views),
        (f"test/query_{seen}", seen, "query"),
        (f"test/gallery_{searched}", searched, "gallery"),
    ]
    folder = find_folder(
        root,
        dataset="university1652",
        nested=("University-1652", "University-Release", "university1652"),
        expected=tuple(place for place, _, _ in places),
    )
    matches = [(_scan(folder, place), view, split) for place, view, split in places]
    rows = [
        Row(path, match[1], split=split) for one, _, split in matches for path, match in one.found
    ]
    return manifest_of(
        rows,
        dataset="university1652",
        root=folder,
        matches=[one for one, _, _ in matches],
        notes=(f"task: {task}", f"trained on the views {', '.join(train_views)}"),
        has_cameras=False,
        columns={"viewids": [_VIEWS.index(view) for one, view, _ in matches for _ in one.found]},
        expected=_expected(seen, searched, train_views),
    )


def _check(task: str, views: tuple[View, ...]) -> None:
    if task not in _TASKS:
        raise ConfigError(
            f"data set university1652: task is {task!r}; expected one of {', '.join(_TASKS)}"
        )
    if not views or len(set(views)) < len(views) or not set(views) <= set(_VIEWS):
        raise ConfigError(
            f"data set university1652: train_views is {list(views)!r}; expected some of "
            f"{', '.join(_VIEWS)}, each once"
        )


def _scan(folder: Path, place: str) -> Matches:
    return matching(
        folder,
        _IMAGE,
        dataset="university1652",
        example="0839/image-01.jpeg (a folder a building)",
        inside=place,
        recursive=True,
        required=True,
    )


def _expected(seen: str, searched: str, views: tuple[View, ...]) -> dict[str, Count]:
    expected = {"query": Count(_QUERY[seen], 701), "gallery": _GALLERY[searched]}
    if "google" in views:
        return expected
    return {"train": Count(sum(_TRAIN_IMAGES[view] for view in views), 701), **expected}
