"""VIPeR: two images of each pedestrian, from two viewpoints."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from reid_core.data.manifest import Count, Manifest
from reid_plugin_datasets.draws import draw, require_split, split_note
from reid_plugin_datasets.folders import find_folder, matching
from reid_plugin_datasets.parameters import require_choice
from reid_plugin_datasets.rows import Row, manifest_of

_CAMERAS = {"cam_a": 1, "cam_b": 2}
_NAME = re.compile(r"(\d+)_(\d+)")


def viper(root: str | Path, split: int = 0, query: Literal["a", "b"] = "a") -> Manifest:
    """Read VIPeR.

    A file is named ``cam_a/001_45.bmp``: identity 1, seen from 45 degrees by camera A. Half of the
    identities that both cameras saw, drawn at random, are trained on: 316 of 632.

    Args:
        root: The folder with ``cam_a`` and ``cam_b``, or the one above ``VIPeR``. A relative path
            is also looked for under ``REID_DATASETS``.
        split: Number of the draw, 0 to 9; the same number draws the same identities.
        query: The camera whose images are the queries; the other's are the gallery.

    Returns:
        The manifest, camera A first, files sorted; cameras 1 and 2.

    Raises:
        DataError: The folders are not there, or no file in one is named like that.
        ConfigError: There is no such split or camera.

    Source: Gray et al., Evaluating Appearance Models for Recognition, Reacquisition, and Tracking,
        PETS 2007.
    """
    require_split(split, dataset="viper")
    require_choice(query, ("a", "b"), name="query", dataset="viper")
    folder = find_folder(
        root, dataset="viper", nested=("VIPeR", "viper", "viper/VIPeR"), expected=tuple(_CAMERAS)
    )
    parts = [
        matching(folder, _NAME, dataset="viper", example="001_45.bmp", inside=name, required=True)
        for name in _CAMERAS
    ]
    first, second = ({int(match[1]) for _, match in part.found} for part in parts)
    trained = draw(first & second, len(first & second) // 2, split=split)
    rows = []
    for letter, camera, part in zip("ab", _CAMERAS.values(), parts, strict=True):
        tested: Literal["query", "gallery"] = "query" if letter == query else "gallery"
        for path, match in part.found:
            pid = int(match[1])
            rows.append(Row(path, pid, camera, "train" if pid in trained else tested))
    return manifest_of(
        rows,
        dataset="viper",
        root=folder,
        matches=parts,
        notes=[
            split_note(split, "half of the identities are trained on"),
            f"queries: camera {query.upper()}",
        ],
        expected={"train": Count(632, 316), "query": Count(316, 316), "gallery": Count(316, 316)},
    )
