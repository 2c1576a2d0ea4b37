"""SYSU-MM01: infrared images that are searched for in visible ones."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from reid_core.data.manifest import Count, Manifest, Split
from reid_core.errors import DataError
from reid_plugin_datasets.folders import find_folder, matching
from reid_plugin_datasets.names import read_numbers
from reid_plugin_datasets.parameters import require_between, require_choice
from reid_plugin_datasets.rows import Row, manifest_of

_CAMERAS = tuple(range(1, 7))
_INFRARED = frozenset({3, 6})
#: Cameras of the gallery, by mode of search.
_GALLERY = {"all": (1, 2, 4, 5), "indoor": (1, 2)}
_NAME = re.compile(r"(\d+)/[^/]+$")
_LISTS = ("exp/train_id.txt", "exp/val_id.txt", "exp/test_id.txt")


def sysu_mm01(
    root: str | Path,
    mode: Literal["all", "indoor"] = "all",
    draw: int | None = None,
    validation: Literal["train", "out"] = "train",
) -> Manifest:
    """Read SYSU-MM01.

    ``cam3/0001/0007.jpg`` is an image of identity 1 by camera 3. Cameras 3 and 6 are infrared, 1,
    2, 4 and 5 visible. ``exp/train_id.txt``, ``val_id.txt`` and ``test_id.txt`` hold the identities
    of each part, set off by commas.

    The queries are all infrared images of the test identities. The gallery is all visible images of
    these, from which the protocol ``sysu_mm01`` draws one of each identity and camera, ten times;
    published figures are means over the ten. With ``draw`` the gallery is one of these draws, for
    tools that need one. The draws are those of Python's own generator seeded with the number, over
    identities, cameras and names in sorted order, as in the code of AGW and of most papers since;
    the authors' MATLAB code reads its draws from a file.

    The column ``modalities`` is ``rgb`` or ``infrared``. Cameras 2 and 3 look at one place, and the
    set's protocol leaves all images of camera 2 out for a query of camera 3. The column ``places``
    says so: it is 2 for both, else the camera.

    Args:
        root: The folder with ``cam1`` to ``cam6`` and ``exp``, or the one above ``SYSU-MM01``. A
            relative path is also looked for under ``REID_DATASETS``.
        mode: ``all``: the gallery has images of all four visible cameras. ``indoor``: of cameras 1
            and 2 only.
        draw: Number of the draw of the gallery, 0 to 9; the same number draws the same images. None
            leaves drawing to the protocol.
        validation: Whether the identities of ``val_id.txt`` are trained on, as most published
            results do (395 identities), or left out.

    Returns:
        The manifest, in the order train, query, gallery.

    Raises:
        ConfigError: A parameter is wrong.
        DataError: Folders or lists are not as described, or an identity is trained on and tested.

    Source: Wu et al., RGB-Infrared Cross-Modality Person Re-Identification, ICCV 2017; the draws:
        Ye et al., Deep Learning for Person Re-identification: A Survey and Outlook, TPAMI 2021.
    """
    require_choice(mode, tuple(_GALLERY), name="mode", dataset="sysu_mm01")
    require_choice(validation, ("train", "out"), name="validation", dataset="sysu_mm01")
    if draw is not None:
        require_between(draw, 0, 9, name="draw", dataset="sysu_mm01")
    folder = find_folder(
        root,
        dataset="sysu_mm01",
        nested=("SYSU-MM01", "sysu_mm01", "sysu"),
        expected=(*(f"cam{camera}" for camera in _CAMERAS), *_LISTS),
    )
    matches = {
        camera: matching(
            folder,
            _NAME,
            dataset="sysu_mm01",
            example="0001/0001.jpg",
            inside=f"cam{camera}",
            recursive=True,
            required=True,
        )
        for camera in _CAMERAS
    }
    images: dict[tuple[int, int], list[str]] = {}
    for camera, part in matches.items():
        for path, match in part.found:
            images.setdefault((int(match[1]), camera), []).append(path)
    trained, tested = _identities(folder, validation)
    rows = _rows(images, trained, _CAMERAS, "train")
    rows += _rows(images, tested, sorted(_INFRARED), "query")
    if draw is None:
        rows += _rows(images, tested, _GALLERY[mode], "gallery")
    else:
        rows += _drawn(images, tested, _GALLERY[mode], draw)
    return manifest_of(
        rows,
        dataset="sysu_mm01",
        root=folder,
        matches=list(matches.values()),
        notes=(
            f"mode {mode}: queries of cameras 3 and 6 (infrared), gallery of cameras "
            f"{', '.join(str(camera) for camera in _GALLERY[mode])}",
            "gallery: all images, from which the protocol sysu_mm01 draws"
            if draw is None
            else f"gallery: one image an identity and camera, draw {draw}; published figures are "
            "means over ten draws",
            "cameras 2 and 3 look at one place (column places): the set's protocol leaves camera 2 "
            "out for queries of camera 3",
            f"val_id.txt: {validation}",
        ),
        expected=_expected(mode, validation, is_drawn=draw is not None),
        columns={
            "modalities": ["infrared" if row.camid in _INFRARED else "rgb" for row in rows],
            "places": np.array([2 if row.camid == 3 else int(row.camid) for row in rows]),
        },
    )


def _identities(folder: Path, validation: str) -> tuple[list[int], list[int]]:
    trained, validated, tested = (
        read_numbers(folder / name, dataset="sysu_mm01") for name in _LISTS
    )
    if validation == "train":
        trained = sorted({*trained, *validated})
    shared = sorted(set(trained) & set(tested))
    if shared:
        raise DataError(
            f"data set sysu_mm01: {len(shared)} identities are trained on and tested, for example "
            f"{shared[0]}; expected lists in {folder / 'exp'} that share none"
        )
    return trained, tested


def _rows(
    images: dict[tuple[int, int], list[str]], pids: list[int], cameras: Sequence[int], split: Split
) -> list[Row]:
    return [
        Row(path, pid, camera, split)
        for pid in pids
        for camera in cameras
        for path in images.get((pid, camera), [])
    ]


def _drawn(
    images: dict[tuple[int, int], list[str]], pids: list[int], cameras: Sequence[int], draw: int
) -> list[Row]:
    generator = random.Random(draw)
    return [
        Row(generator.choice(images[pid, camera]), pid, camera, "gallery")
        for pid in pids
        for camera in cameras
        if (pid, camera) in images
    ]


def _expected(mode: str, validation: str, *, is_drawn: bool) -> dict[str, Count]:
    counts = {"query": Count(3_803, 96)}
    if validation == "train":
        counts["train"] = Count(34_167, 395)
    if mode == "all" and is_drawn:
        counts["gallery"] = Count(301, 96)
    return counts
