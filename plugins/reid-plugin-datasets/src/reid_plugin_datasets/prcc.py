"""PRCC: people who change their clothes between cameras."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Literal

import numpy as np

from reid_core.data.manifest import Count, Manifest, Split
from reid_plugin_datasets.folders import Matches, find_folder, matching
from reid_plugin_datasets.parameters import require_between, require_choice
from reid_plugin_datasets.rows import Row, manifest_of

_TRAIN_NAME = re.compile(r"(\d+)/([ABC])_[^/]+$")
_TEST_NAME = re.compile(r"(\d+)/[^/]+$")
#: Cameras of the queries, by whether clothes are those of the gallery.
_QUERIES = {"same": "B", "changed": "C"}


def prcc(
    root: str | Path,
    clothes: Literal["same", "changed"] = "changed",
    gallery: Literal["all", "one"] = "all",
    draw: int = 0,
    validation: Literal["out", "train"] = "out",
) -> Manifest:
    """Read the photographs of PRCC.

    Cameras A and B saw each person in the same clothes, camera C in others.
    ``rgb/train/001/A_cropped_rgb001.jpg`` is an image of identity 1 by camera A; in the test the
    camera is a folder, ``rgb/test/A/001/cropped_rgb001.jpg``. The gallery is camera A; queries are
    of camera B (same clothes) or C (changed clothes). The column ``clothids`` numbers the clothes:
    twice the identity for cameras A and B, one more for camera C.

    Args:
        root: The folder with ``rgb``, or the one above ``prcc``. A relative path is also looked for
            under ``REID_DATASETS``.
        clothes: Whether the queries wear the gallery's clothes or others.
        gallery: ``all`` images of camera A, or ``one`` of each identity, drawn at random. In the
            paper figures are means over ten draws, which the protocol ``prcc`` makes from all.
        draw: Number of the draw where ``gallery`` is ``one``, 0 to 9.
        validation: Whether the images of ``rgb/val``, which show the people of the training, are
            left out, as most published results do, or trained on.

    Returns:
        The manifest, in the order train, query, gallery, files sorted; cameras as text.

    Raises:
        ConfigError: A parameter is wrong.
        DataError: The folders are not there, or no file in one is named like that.

    Source: Yang et al., Person Re-identification by Contour Sketch under Moderate Clothing Change,
        TPAMI 2021.
    """
    for name, value, choices in (
        ("clothes", clothes, tuple(_QUERIES)),
        ("gallery", gallery, ("all", "one")),
        ("validation", validation, ("out", "train")),
    ):
        require_choice(value, choices, name=name, dataset="prcc")
    require_between(draw, 0, 9, name="draw", dataset="prcc")
    trained = ["rgb/train", "rgb/val"][: 2 if validation == "train" else 1]
    tested = [f"rgb/test/{_QUERIES[clothes]}", "rgb/test/A"]
    folder = find_folder(
        root, dataset="prcc", nested=("prcc", "PRCC", "prcc/prcc"), expected=(*trained, *tested)
    )
    matches = [
        *(_scan(folder, inside, _TRAIN_NAME, "001/A_cropped_rgb001.jpg") for inside in trained),
        *(_scan(folder, inside, _TEST_NAME, "001/cropped_rgb001.jpg") for inside in tested),
    ]
    rows = [
        Row(path, int(match[1]), match[2], "train")
        for part in matches[: len(trained)]
        for path, match in part.found
    ]
    rows += _tested(matches[-2], _QUERIES[clothes], "query")
    held = _tested(matches[-1], "A", "gallery")
    rows += held if gallery == "all" else _one_each(held, draw)
    return manifest_of(
        rows,
        dataset="prcc",
        root=folder,
        matches=matches,
        notes=(
            f"queries in {'the same' if clothes == 'same' else 'changed'} clothes (camera "
            f"{_QUERIES[clothes]}), gallery of camera A",
            "gallery: all images" if gallery == "all" else f"gallery: one an identity, draw {draw}",
            f"rgb/val: {validation}",
        ),
        expected={
            "train": Count(17_896 if validation == "out" else 22_898, 150),
            "query": Count(3_543 if clothes == "same" else 3_873, 71),
            "gallery": Count(3_384 if gallery == "all" else 71, 71),
        },
        columns={
            "clothids": np.array([2 * int(row.pid) + (row.camid == "C") for row in rows]),
        },
    )


def _scan(folder: Path, inside: str, pattern: re.Pattern[str], example: str) -> Matches:
    return matching(
        folder,
        pattern,
        dataset="prcc",
        example=example,
        inside=inside,
        recursive=True,
        required=True,
    )


def _tested(part: Matches, camera: str, split: Split) -> list[Row]:
    return [Row(path, int(match[1]), camera, split) for path, match in part.found]


def _one_each(rows: list[Row], draw: int) -> list[Row]:
    generator = random.Random(draw)
    by_pid: dict[int | str, list[Row]] = {}
    for row in rows:
        by_pid.setdefault(row.pid, []).append(row)
    return [generator.choice(by_pid[pid]) for pid in sorted(by_pid)]
