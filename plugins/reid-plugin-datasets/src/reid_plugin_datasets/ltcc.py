"""LTCC: people over two months, many in changing clothes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import numpy as np

from reid_core.data.manifest import Count, Manifest, Split
from reid_core.errors import DataError
from reid_plugin_datasets.folders import find_folder, matching
from reid_plugin_datasets.names import read_numbers
from reid_plugin_datasets.parameters import require_choice
from reid_plugin_datasets.rows import Row, manifest_of

_FOLDERS: dict[Split, str] = {"train": "train", "query": "query", "gallery": "test"}
_NAME = re.compile(r"(\d+)_(\d{1,2})_c(\d{1,2})_(\d+)")
#: Word in the names of the lists of identities, by what the config says.
_LISTS = {"cloth_changing": "cloth-change", "cloth_consistent": "cloth-unchange"}


def ltcc(
    root: str | Path, identities: Literal["all", "cloth_changing", "cloth_consistent"] = "all"
) -> Manifest:
    """Read LTCC.

    A file is named ``000_1_c11_015833.png``: identity 0, its first clothes, camera 11 of 12, frame
    15833. Identity 0 is a person like the others. The column ``clothids`` numbers the clothes: 100
    times the identity plus the number in the name. ``frames`` is the frame.

    In the set's standard protocol matches of the query's own camera are left out, in its
    cloth-changing protocol also those in the query's clothes.

    Args:
        root: The folder with ``train``, ``query`` and ``test``, or the one above ``LTCC_ReID``. A
            relative path is also looked for under ``REID_DATASETS``.
        identities: Whether everybody is read, or only those who change clothes, or who do not, by
            the lists ``info/cloth-change_id_train.txt`` and its kin.

    Returns:
        The manifest, in the order train, query, gallery, files sorted.

    Raises:
        ConfigError: ``identities`` is another word.
        DataError: Folders or lists are not there, or no file in one is named like that.

    Source: Qian et al., Long-Term Cloth-Changing Person Re-identification, ACCV 2020.
    """
    require_choice(identities, ("all", *_LISTS), name="identities", dataset="ltcc")
    folder = find_folder(
        root,
        dataset="ltcc",
        nested=("LTCC_ReID", "LTCC", "ltcc"),
        expected=tuple(_FOLDERS.values()),
    )
    matches = {
        split: matching(
            folder,
            _NAME,
            dataset="ltcc",
            example="000_1_c11_015833.png",
            inside=inside,
            required=True,
        )
        for split, inside in _FOLDERS.items()
    }
    kept = {split: _kept(folder, split, identities) for split in _FOLDERS}
    found = [
        (Row(path, int(match[1]), int(match[3]), split), match)
        for split, part in matches.items()
        for path, match in part.found
        if identities == "all" or int(match[1]) in kept[split]
    ]
    if not found:
        raise DataError(
            f"data set ltcc: no image in {folder} is of an identity that the lists in "
            f"{folder / 'info'} name as {identities}"
        )
    return manifest_of(
        [row for row, _ in found],
        dataset="ltcc",
        root=folder,
        matches=list(matches.values()),
        notes=(f"identities: {identities}",),
        expected=_EXPECTED if identities == "all" else None,
        columns={
            "clothids": np.array([100 * int(match[1]) + int(match[2]) for _, match in found]),
            "frames": np.array([int(match[4]) for _, match in found]),
        },
    )


_EXPECTED = {"train": Count(9_576, 77), "query": Count(493, 75), "gallery": Count(7_050, 75)}


def _kept(folder: Path, split: Split, identities: str) -> frozenset[int]:
    """Return the identities of a list; none is read where everybody is kept."""
    if identities == "all":
        return frozenset()
    part = "train" if split == "train" else "test"
    path = folder / "info" / f"{_LISTS[identities]}_id_{part}.txt"
    return frozenset(read_numbers(path, dataset="ltcc"))
