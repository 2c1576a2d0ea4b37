"""Occluded-Duke: DukeMTMC-reID with occluded queries."""

from __future__ import annotations

import re
from pathlib import Path

from reid_core.data.manifest import Count, Manifest
from reid_core.errors import DataError
from reid_core.paths import resolve_root
from reid_plugin_datasets.dukemtmc import WITHDRAWN
from reid_plugin_datasets.folders import find_folder, images_in
from reid_plugin_datasets.layouts import MARKET_FOLDERS, rows_by_folder
from reid_plugin_datasets.names import read_names
from reid_plugin_datasets.rows import Row, manifest_of

_NAME = re.compile(r"(\d+)_c(\d)")
_EXAMPLE = "0019_c1_f0051230.jpg"
_EXPECTED = {
    "train": Count(15_618, 702),
    "query": Count(2_210, 519),
    "gallery": Count(17_661, 1_110),
}


def occluded_duke(root: str | Path, lists: str | Path | None = None) -> Manifest:
    """Read Occluded-Duke (Occluded-DukeMTMC).

    It is DukeMTMC-reID cut anew, so that every query is occluded. A file is named
    ``0019_c1_f0051230.jpg``: identity 19, camera 1 of 8. The authors of DukeMTMC took their data
    back in 2019, so nothing here downloads it, and the manifest says so.

    Args:
        root: The folder with ``bounding_box_train``, ``query`` and ``bounding_box_test``, or the
            one above ``Occluded_Duke``; with ``lists`` the folder of DukeMTMC-reID. A relative path
            is also looked for under ``REID_DATASETS``.
        lists: The folder with ``train.list``, ``query.list`` and ``gallery.list`` that the authors
            of Occluded-Duke publish, a file name a line. The images are then taken from
            DukeMTMC-reID, where training and query images that are not in the folder of their
            split lie in ``bounding_box_test``. null: the images are sorted into folders already.

    Returns:
        The manifest, in the order train, query, gallery.

    Raises:
        DataError: Folders or lists are not there, no file is named like that, or a listed image is
            missing.

    Source: Miao et al., Pose-Guided Feature Alignment for Occluded Person Re-Identification,
        ICCV 2019.
    """
    nested = ("Occluded_Duke", "occluded_duke", "Occluded-DukeMTMC")
    folder = find_folder(
        root,
        dataset="occluded_duke",
        nested=nested if lists is None else ("DukeMTMC-reID", "dukemtmc-reid/DukeMTMC-reID"),
        expected=tuple(MARKET_FOLDERS.values()),
    )
    if lists is not None:
        return manifest_of(
            _listed(folder, resolve_root(lists)),
            dataset="occluded_duke",
            root=folder,
            notes=(WITHDRAWN, f"images of {folder.name}, split by the lists in {lists}"),
            expected=_EXPECTED,
        )
    rows, parts = rows_by_folder(
        folder, MARKET_FOLDERS, _NAME, dataset="occluded_duke", example=_EXAMPLE
    )
    return manifest_of(
        rows,
        dataset="occluded_duke",
        root=folder,
        matches=parts,
        notes=(WITHDRAWN,),
        expected=_EXPECTED,
    )


def _listed(folder: Path, lists: Path) -> list[Row]:
    held = {inside: frozenset(images_in(folder / inside)) for inside in MARKET_FOLDERS.values()}
    rows = []
    for split, inside in MARKET_FOLDERS.items():
        path = lists / f"{split}.list"
        names = read_names(path, dataset="occluded_duke")
        missing = [name for name in names if name not in held[inside] | held["bounding_box_test"]]
        if missing:
            raise DataError(
                f"data set occluded_duke: {len(missing)} of the {len(names)} images of {path} are "
                f"neither in {folder / inside} nor in bounding_box_test, for example "
                f"{', '.join(missing[:3])}; expected the images of DukeMTMC-reID under their names"
            )
        for name in names:
            match = _NAME.match(name)
            if match is None:
                raise DataError(
                    f"data set occluded_duke: {path} names {name!r}; expected names like {_EXAMPLE}"
                )
            place = inside if name in held[inside] else "bounding_box_test"
            rows.append(Row(f"{place}/{name}", int(match[1]), int(match[2]), split))
    return rows
