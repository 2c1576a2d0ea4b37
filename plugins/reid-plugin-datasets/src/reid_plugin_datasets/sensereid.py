"""SenseReID: a test set of two cameras."""

from __future__ import annotations

import re
from pathlib import Path

from reid_core.data.manifest import Count, Manifest, Split
from reid_core.paths import resolve_root
from reid_plugin_datasets.folders import find_folder
from reid_plugin_datasets.layouts import rows_by_folder
from reid_plugin_datasets.rows import manifest_of

#: The folder of the queries as the archive spells it, and as some toolboxes do.
_PROBES = ("test_probe", "test_prob")
_NESTED = ("SenseReID", "sensereid/SenseReID", "sensereid")
_NAME = re.compile(r"(\d+)_(\d+)")


def sensereid(root: str | Path) -> Manifest:
    """Read SenseReID, which is for tests only.

    A file is named ``test_gallery/00012_1.jpg``: identity 12, camera 1. 522 of the 1,717 people are
    queries.

    Args:
        root: The folder with ``test_probe`` (or ``test_prob``) and ``test_gallery``, or the one
            above ``SenseReID``. A relative path is also looked for under ``REID_DATASETS``.

    Returns:
        The manifest, queries first, files sorted; cameras as in the names.

    Raises:
        DataError: The folders are not there, or no file in one is named like that.

    Source: Zhao et al., Spindle Net: Person Re-identification with Human Body Region Guided Feature
        Decomposition and Fusion, CVPR 2017.
    """
    base = resolve_root(root)
    probe = next(
        (
            name
            for name in _PROBES
            for folder in (base, *(base / nested for nested in _NESTED))
            if (folder / name).is_dir()
        ),
        _PROBES[0],
    )
    folder = find_folder(
        root, dataset="sensereid", nested=_NESTED, expected=(probe, "test_gallery")
    )
    folders: dict[Split, str] = {"query": probe, "gallery": "test_gallery"}
    rows, parts = rows_by_folder(folder, folders, _NAME, dataset="sensereid", example="00012_1.jpg")
    return manifest_of(
        rows,
        dataset="sensereid",
        root=folder,
        matches=parts,
        notes=["for tests only: nothing to train on"],
        expected={"query": Count(1040, 522), "gallery": Count(3388, 1717)},
    )
