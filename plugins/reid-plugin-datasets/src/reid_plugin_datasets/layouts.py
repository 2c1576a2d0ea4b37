"""Layouts that several benchmarks share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from reid_core.data.manifest import Split
from reid_plugin_datasets.folders import Matches, matching
from reid_plugin_datasets.rows import Row

#: Market-1501's names of the folders.
MARKET_FOLDERS: Mapping[Split, str] = {
    "train": "bounding_box_train",
    "query": "query",
    "gallery": "bounding_box_test",
}


def rows_by_folder(
    folder: Path,
    folders: Mapping[Split, str],
    pattern: re.Pattern[str],
    *,
    dataset: str,
    example: str,
) -> tuple[list[Row], list[Matches]]:
    """Read a layout with a folder a split, and the identity and camera in the name.

    Args:
        folder: The folder that holds them.
        folders: The folder of each split.
        pattern: What a name begins with; its groups are identity and camera, whole numbers.
        dataset: The component's name, for messages.
        example: A name that fits, for messages.

    Returns:
        The rows, in the order of ``folders`` and sorted by name, and what the folders held.

    Raises:
        DataError: A folder is missing, or no name in it fits.
    """
    rows: list[Row] = []
    parts: list[Matches] = []
    for split, inside in folders.items():
        part = matching(
            folder, pattern, dataset=dataset, example=example, inside=inside, required=True
        )
        rows += [Row(path, int(match[1]), int(match[2]), split) for path, match in part.found]
        parts.append(part)
    return rows, parts
