"""CUHK01: a campus, two cameras, two images each."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from reid_core.data.manifest import Count, Manifest
from reid_core.errors import ConfigError
from reid_plugin_datasets.draws import draw, require_split, split_note
from reid_plugin_datasets.folders import find_folder, matching
from reid_plugin_datasets.parameters import require_choice
from reid_plugin_datasets.rows import Row, manifest_of

_IDENTITIES = 971
_NAME = re.compile(r"(\d{4})(\d{3})\.")


def cuhk01(
    root: str | Path,
    split: int = 0,
    test_identities: int = 486,
    query: Literal["a", "b"] = "a",
) -> Manifest:
    """Read CUHK01.

    A file is named ``campus/0001002.png``: image 2 of identity 1. Images 1 and 2 are of camera A,
    3 and 4 of camera B. All images of a tested identity are used: two queries, two in the gallery.

    Args:
        root: The folder with ``campus``, or the one above ``CUHK01``. A relative path is also
            looked for under ``REID_DATASETS``.
        split: Number of the draw of the identities, 0 to 9.
        test_identities: Identities that are tested, of 971: 486 or 100 in published results. The
            others are trained on.
        query: The camera whose images are the queries; the other's are the gallery.

    Returns:
        The manifest, files sorted; cameras 1 and 2.

    Raises:
        DataError: The folder is not there, or no file in it is named like that.
        ConfigError: There is no such split or camera, or nothing is left to test or to train on.

    Source: Li et al., Human Reidentification with Transferred Metric Learning, ACCV 2012.
    """
    require_split(split, dataset="cuhk01")
    require_choice(query, ("a", "b"), name="query", dataset="cuhk01")
    folder = find_folder(root, dataset="cuhk01", nested=("CUHK01", "cuhk01"), expected=("campus",))
    part = matching(
        folder, _NAME, dataset="cuhk01", example="0001001.png", inside="campus", required=True
    )
    pids = {int(match[1]) for _, match in part.found}
    if not 0 < test_identities < len(pids):
        raise ConfigError(
            f"data set cuhk01: test_identities is {test_identities}; expected 1 to "
            f"{len(pids) - 1}, since {part.place} has {len(pids)} identities"
        )
    trained = draw(pids, len(pids) - test_identities, split=split)
    rows = []
    for path, match in part.found:
        pid, camera = int(match[1]), 1 if int(match[2]) <= 2 else 2
        tested: Literal["query", "gallery"] = "query" if " ab"[camera] == query else "gallery"
        rows.append(Row(path, pid, camera, "train" if pid in trained else tested))
    left = _IDENTITIES - test_identities
    pair = Count(2 * test_identities, test_identities)
    return manifest_of(
        rows,
        dataset="cuhk01",
        root=folder,
        matches=[part],
        notes=[
            split_note(split, f"{test_identities} identities are tested"),
            f"queries: camera {query.upper()}; two images of each identity in the gallery",
        ],
        expected={"train": Count(4 * left, left), "query": pair, "gallery": pair},
    )
