"""GRID: an underground station, eight cameras, and many strangers in the gallery."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from reid_core.data.manifest import Count, Manifest, Split
from reid_core.errors import DataError
from reid_plugin_datasets.draws import draw, require_split, split_note
from reid_plugin_datasets.folders import find_folder, matching
from reid_plugin_datasets.matlab import read_cells
from reid_plugin_datasets.rows import Row, manifest_of

_PARTITIONS = "features_and_partitions.mat"
_NAME = re.compile(r"(\d{4})_(\d+)_")


def grid(root: str | Path, split: int = 0) -> Manifest:
    """Read GRID (QMUL underground re-identification).

    A file is named ``probe/0001_1_25004_107_32_106_221.jpeg``: identity 1, camera 1. Each of 250
    people is seen once in ``probe`` and once in ``gallery``, which also holds 775 strangers of
    identity 0. Half of the people are trained on: those of the partition in
    ``features_and_partitions.mat`` where that file is there, else drawn at random.

    Args:
        root: The folder with ``probe`` and ``gallery``, or the one above ``underground_reid``. A
            relative path is also looked for under ``REID_DATASETS``.
        split: Number of the partition or of the draw, 0 to 9.

    Returns:
        The manifest, ``probe`` first, files sorted; cameras as in the names; a note says where the
        split comes from.

    Raises:
        DataError: The folders are not there, no file in one is named like that, or the partitions
            cannot be read.
        ConfigError: There is no such split.

    Source: Loy et al., Time-Delayed Correlation Analysis for Multi-Camera Activity Understanding,
        IJCV 2010.
    """
    require_split(split, dataset="grid")
    folder = find_folder(
        root,
        dataset="grid",
        nested=("underground_reid", "grid/underground_reid"),
        expected=("probe", "gallery"),
    )
    parts = [
        matching(
            folder,
            _NAME,
            dataset="grid",
            example="0001_1_25004_107_32_106_221.jpeg",
            inside=name,
            required=True,
        )
        for name in ("probe", "gallery")
    ]
    pids = {int(match[1]) for _, match in parts[0].found} - {0}
    trained, rule = _trained(folder, pids, split)
    splits: tuple[Split, ...] = ("query", "gallery")
    rows = [
        Row(path, int(match[1]), int(match[2]), "train" if int(match[1]) in trained else tested)
        for tested, part in zip(splits, parts, strict=True)
        for path, match in part.found
        if tested == "gallery" or int(match[1])
    ]
    left_out = sum(len(part.found) for part in parts) - len(rows)
    return manifest_of(
        rows,
        dataset="grid",
        root=folder,
        matches=parts,
        notes=[
            split_note(split, rule),
            f"{sum(not row.pid for row in rows)} strangers (identity 0) in the gallery",
            *([f"{left_out} strangers in probe left out"] if left_out else []),
        ],
        distractors=(0,),
        expected={"train": Count(250, 125), "query": Count(125, 125), "gallery": Count(900, 126)},
    )


def _trained(folder: Path, pids: set[int], split: int) -> tuple[frozenset[int], str]:
    """Return the identities to train on, and how they were chosen."""
    path = folder / _PARTITIONS
    if not path.is_file():
        rule = f"half of the identities are trained on, drawn here, since there is no {_PARTITIONS}"
        return draw(pids, len(pids) // 2, split=split), rule
    cells = read_cells(path, "trainIdxAll", dataset="grid")
    try:
        # Each cell is a structure whose third field holds the numbers of the people.
        fields = list(np.atleast_1d(np.asarray(cells, dtype=object))[split].values())
        chosen = frozenset(int(number) for number in np.ravel(fields[2]))
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        raise DataError(
            f"data set grid: {path} does not hold ten partitions in trainIdxAll ({error!r}); "
            "expected the file that came with the data; without it the identities are drawn"
        ) from error
    if not chosen & pids or chosen >= pids:
        raise DataError(
            f"data set grid: partition {split} of {path} trains on {len(chosen & pids)} of the "
            f"{len(pids)} people in {folder / 'probe'}; expected half of them"
        )
    return chosen, f"partition of {_PARTITIONS}"
