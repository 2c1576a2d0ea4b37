"""QMUL i-LIDS: an airport, cameras not told."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from reid_core.data.manifest import Count, Manifest
from reid_plugin_datasets.draws import draw, require_split, split_note
from reid_plugin_datasets.folders import find_folder, matching
from reid_plugin_datasets.rows import Row, manifest_of

_NAME = re.compile(r"(\d{4})(\d{3})\.")


def ilids(root: str | Path, split: int = 0) -> Manifest:
    """Read QMUL i-LIDS (476 images of 119 people).

    A file is named ``Persons/0001002.jpg``: image 2 of identity 1. The names do not say which
    camera took an image, so retrieval is measured without regard to cameras. Half of the
    identities, drawn at random, are trained on. Of each of the others one image, drawn at random,
    is the query, and another one is in the gallery.

    Args:
        root: The folder with ``Persons``, or one above ``i-LIDS_Pedestrian``. A relative path is
            also looked for under ``REID_DATASETS``.
        split: Number of the draw, 0 to 9; the same number draws the same identities and images.

    Returns:
        The manifest, files sorted; cameras not known.

    Raises:
        DataError: The folder is not there, or no file in it is named like that.
        ConfigError: There is no such split.

    Source: Zheng et al., Associating Groups of People, BMVC 2009.
    """
    require_split(split, dataset="ilids")
    folder = find_folder(
        root,
        dataset="ilids",
        nested=("i-LIDS_Pedestrian", "ilids/i-LIDS_Pedestrian"),
        expected=("Persons",),
    )
    part = matching(
        folder, _NAME, dataset="ilids", example="0001001.jpg", inside="Persons", required=True
    )
    images: dict[int, list[str]] = {}
    for path, match in part.found:
        images.setdefault(int(match[1]), []).append(path)
    trained = draw(images, len(images) // 2, split=split)
    rng = np.random.default_rng(np.random.SeedSequence((split, 1)))
    rows = []
    for pid, paths in sorted(images.items()):
        if pid in trained:
            rows += [Row(path, pid) for path in paths]
        else:
            order = rng.permutation(len(paths)).tolist()
            rows += [Row(paths[one], pid, split="query") for one in order[:1]]
            rows += [Row(paths[one], pid, split="gallery") for one in order[1:2]]
    unused = len(part.found) - len(rows)
    return manifest_of(
        rows,
        dataset="ilids",
        root=folder,
        matches=[part],
        notes=[
            "no cameras are known",
            split_note(
                split,
                "half of the identities are trained on; of each of the others two images are "
                f"tested, and {unused} are left out",
            ),
        ],
        has_cameras=False,
        expected={"query": Count(60, 60), "gallery": Count(60, 60)},
    )
