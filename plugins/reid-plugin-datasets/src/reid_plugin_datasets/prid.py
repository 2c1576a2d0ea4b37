"""PRID 2011, single shot: two cameras, of which each saw many people that the other did not."""

from __future__ import annotations

import re
from pathlib import Path

from reid_core.data.manifest import Count, Manifest
from reid_plugin_datasets.draws import draw, require_split, split_note
from reid_plugin_datasets.folders import find_folder, matching
from reid_plugin_datasets.rows import Row, manifest_of

#: Numbers up to this name the same person in both folders; larger ones name different people.
_SHARED = 200
_NAME = re.compile(r"person_(\d+)")


def prid(root: str | Path, split: int = 0) -> Manifest:
    """Read PRID 2011, the part with one image a person and camera.

    A file is named ``cam_a/person_0001.png``. People 1 to 200 were seen by both cameras; half of
    them, drawn at random, are trained on. The others are the queries in camera A, and are searched
    for among all people of camera B that are not trained on. Larger numbers name different people
    in the two folders; those of camera A are not used.

    Args:
        root: The folder with ``cam_a`` and ``cam_b``, or one above ``prid_2011/single_shot``. A
            relative path is also looked for under ``REID_DATASETS``.
        split: Number of the draw, 0 to 9; the same number draws the same identities.

    Returns:
        The manifest, camera A first, files sorted; cameras 1 and 2.

    Raises:
        DataError: The folders are not there, or no file in one is named like that.
        ConfigError: There is no such split.

    Source: Hirzer et al., Person Re-Identification by Descriptive and Discriminative
        Classification, SCIA 2011.
    """
    require_split(split, dataset="prid")
    folder = find_folder(
        root,
        dataset="prid",
        nested=("prid_2011/single_shot", "single_shot", "prid2011/prid_2011/single_shot"),
        expected=("cam_a", "cam_b"),
    )
    parts = [
        matching(
            folder, _NAME, dataset="prid", example="person_0001.png", inside=name, required=True
        )
        for name in ("cam_a", "cam_b")
    ]
    seen_a, seen_b = ([(path, int(match[1])) for path, match in part.found] for part in parts)
    both = {pid for _, pid in seen_a} & {pid for _, pid in seen_b} & set(range(1, _SHARED + 1))
    trained = draw(both, len(both) // 2, split=split)
    rows = [
        Row(path, pid, 1, "train" if pid in trained else "query")
        for path, pid in seen_a
        if pid in both
    ]
    rows += [Row(path, pid, 2, "train" if pid in trained else "gallery") for path, pid in seen_b]
    return manifest_of(
        rows,
        dataset="prid",
        root=folder,
        matches=parts,
        notes=[
            split_note(split, "half of the identities that both cameras saw are trained on"),
            f"{len(seen_a) - len(both)} images of camera A left out: people that camera B did not "
            "see",
        ],
        expected={"train": Count(200, 100), "query": Count(100, 100), "gallery": Count(649, 649)},
    )
