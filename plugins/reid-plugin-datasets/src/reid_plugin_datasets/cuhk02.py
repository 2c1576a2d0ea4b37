"""CUHK02: five pairs of cameras."""

from __future__ import annotations

import re
from pathlib import Path

from reid_core.data.manifest import Count, Manifest, Split
from reid_plugin_datasets.folders import Matches, find_folder, matching
from reid_plugin_datasets.rows import Row, manifest_of

_PAIRS = ("P1", "P2", "P3", "P4", "P5")
_TESTED = "P5"
_NAME = re.compile(r"(\d+)_")


def cuhk02(root: str | Path) -> Manifest:
    """Read CUHK02.

    A file is ``Dataset/P1/cam1/001_1.png``: an image of person 001 of the first pair of cameras.
    Each pair counts its people anew, so the pair is part of the identity here, ``P1-001``, and of
    the camera, ``P1-1``. The pairs P1 to P4 are trained on. P5 is tested: queries are camera 1,
    the gallery is camera 2.

    Args:
        root: The folder with ``P1`` to ``P5``, or one above ``Dataset``. A relative path is also
            looked for under ``REID_DATASETS``.

    Returns:
        The manifest, in the order of the pairs and cameras, files sorted.

    Raises:
        DataError: The folders are not there, or no file in one is named like that.

    Source: Li and Wang, Locally Aligned Feature Transforms across Views, CVPR 2013.
    """
    folder = find_folder(
        root,
        dataset="cuhk02",
        nested=("Dataset", "cuhk02/Dataset", "CUHK02/Dataset"),
        expected=tuple(f"{pair}/cam{camera}" for pair in _PAIRS for camera in (1, 2)),
    )
    rows: list[Row] = []
    parts: list[Matches] = []
    for pair in _PAIRS:
        tested: dict[int, Split] = {1: "query", 2: "gallery"}
        for camera, split in tested.items():
            part = matching(
                folder,
                _NAME,
                dataset="cuhk02",
                example="001_1.png",
                inside=f"{pair}/cam{camera}",
                required=True,
            )
            used: Split = split if pair == _TESTED else "train"
            rows += [
                Row(path, f"{pair}-{match[1]}", f"{pair}-{camera}", used)
                for path, match in part.found
            ]
            parts.append(part)
    return manifest_of(
        rows,
        dataset="cuhk02",
        root=folder,
        matches=parts,
        notes=["trained on P1 to P4, tested on P5"],
        expected={
            "train": Count(6308, 1577),
            "query": Count(478, 239),
            "gallery": Count(478, 239),
        },
    )
