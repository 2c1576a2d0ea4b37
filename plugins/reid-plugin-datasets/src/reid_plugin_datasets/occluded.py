"""Sets with hidden people as queries and whole ones in the gallery: Occluded-REID and its kin."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from reid_core.data.manifest import Count, Manifest, Split
from reid_plugin_datasets.dukemtmc import WITHDRAWN
from reid_plugin_datasets.folders import find_folder, matching
from reid_plugin_datasets.parameters import require_choice
from reid_plugin_datasets.rows import Row, manifest_of

_OCCLUDED, _WHOLE = "occluded_body_images", "whole_body_images"
_IN_FOLDER = re.compile(r"(\d+)/[^/]+$")
_IN_NAME = re.compile(r"(\d+)_")
_NO_CAMERAS = "no cameras are known: queries and gallery are occluded and whole images of people"


def occluded_reid(root: str | Path) -> Manifest:
    """Read Occluded-REID, a test set.

    ``occluded_body_images/001/001_01.tif`` is a query of identity 1,
    ``whole_body_images/001/001_01.tif`` a gallery image of it: five of each for 200 identities. The
    pictures were taken with a mobile phone and name no camera, so retrieval is measured without
    regard to cameras; as queries and gallery share no image, that is what published figures do.
    The column ``occluded`` tells the two kinds apart.

    Args:
        root: The folder with ``occluded_body_images`` and ``whole_body_images``, or the one above
            ``Occluded_REID``. A relative path is also looked for under ``REID_DATASETS``.

    Returns:
        The manifest, queries and gallery, files sorted; it has no training images.

    Raises:
        DataError: The folders are not there, or no file in one is named like that.

    Source: Zhuo et al., Occluded Person Re-identification, ICME 2018.
    """
    folder = find_folder(
        root,
        dataset="occluded_reid",
        nested=("Occluded_REID", "OccludedREID", "Occluded-REID"),
        expected=(_OCCLUDED, _WHOLE),
    )
    return _read(
        folder,
        [("query", _OCCLUDED), ("gallery", _WHOLE)],
        dataset="occluded_reid",
        pattern=_IN_FOLDER,
        example="001/001_01.tif",
        notes=(_NO_CAMERAS, "test only: train on another set"),
        expected={"query": Count(1_000, 200), "gallery": Count(1_000, 200)},
    )


def partial_reid(root: str | Path, queries: Literal["partial", "occluded"] = "partial") -> Manifest:
    """Read Partial-REID, a test set.

    ``partial_body_images/001_001.jpg`` shows a part of identity 1, cut out by hand;
    ``occluded_body_images`` the image it was cut from, and ``whole_body_images`` all of the person:
    five of each for 60 identities. The set names no cameras, so retrieval is measured without
    regard to them, as published figures are. The column ``occluded`` is true for queries.

    Args:
        root: The folder with the three, or the one above ``Partial-REID_Dataset`` or
            ``Partial_REID``. A relative path is also looked for under ``REID_DATASETS``.
        queries: Whether the queries are the parts that were cut out, or the occluded images.

    Returns:
        The manifest, queries and gallery, files sorted; it has no training images.

    Raises:
        ConfigError: ``queries`` is another word.
        DataError: The folders are not there, or no file in one is named like that.

    Source: Zheng et al., Partial Person Re-identification, ICCV 2015.
    """
    require_choice(queries, ("partial", "occluded"), name="queries", dataset="partial_reid")
    inside = f"{queries}_body_images"
    folder = find_folder(
        root,
        dataset="partial_reid",
        nested=("Partial-REID_Dataset", "Partial_REID", "PartialREID", "Partial-REID"),
        expected=(inside, _WHOLE),
    )
    return _read(
        folder,
        [("query", inside), ("gallery", _WHOLE)],
        dataset="partial_reid",
        pattern=_IN_NAME,
        example="001_001.jpg",
        notes=(_NO_CAMERAS, f"queries: {inside}", "test only: train on another set"),
        expected={"query": Count(300, 60), "gallery": Count(300, 60)},
    )


def p_dukemtmc(root: str | Path) -> Manifest:
    """Read P-DukeMTMC-reID.

    ``train`` and ``test`` each hold ``occluded_body_images`` and ``whole_body_images``, with a
    folder an identity. Both kinds are trained on; in the test the occluded ones are the queries.
    Published figures leave out no match for its camera, and the layout names no cameras, so
    retrieval is measured without regard to them. The column ``occluded`` tells the two kinds apart.

    The images are of DukeMTMC, which its authors took back in 2019: nothing here downloads them,
    and the manifest says so.

    Args:
        root: The folder with ``train`` and ``test``, or the one above ``P-DukeMTMC-reid``. A
            relative path is also looked for under ``REID_DATASETS``.

    Returns:
        The manifest, in the order train, query, gallery, files sorted.

    Raises:
        DataError: The folders are not there, or no file in one is named like that.

    Source: Zhuo et al., Occluded Person Re-identification, ICME 2018.
    """
    places: list[tuple[Split, str]] = [
        ("train", f"train/{_OCCLUDED}"),
        ("train", f"train/{_WHOLE}"),
        ("query", f"test/{_OCCLUDED}"),
        ("gallery", f"test/{_WHOLE}"),
    ]
    folder = find_folder(
        root,
        dataset="p_dukemtmc",
        nested=("P-DukeMTMC-reid", "P-DukeMTMC-reID", "P-DukeMTMC"),
        expected=tuple(inside for _, inside in places),
    )
    return _read(
        folder,
        places,
        dataset="p_dukemtmc",
        pattern=_IN_FOLDER,
        example="0001/0001_c2_f0046182.jpg",
        notes=(WITHDRAWN, _NO_CAMERAS),
        expected={
            "train": Count(12_927, 665),
            "query": Count(2_163, 634),
            "gallery": Count(9_053, 634),
        },
    )


def _read(
    folder: Path,
    places: Sequence[tuple[Split, str]],
    *,
    dataset: str,
    pattern: re.Pattern[str],
    example: str,
    notes: Sequence[str],
    expected: dict[str, Count],
) -> Manifest:
    parts = [
        (
            split,
            matching(
                folder,
                pattern,
                dataset=dataset,
                example=example,
                inside=inside,
                recursive=pattern is _IN_FOLDER,
                required=True,
            ),
        )
        for split, inside in places
    ]
    return manifest_of(
        [Row(path, int(match[1]), 0, split) for split, part in parts for path, match in part.found],
        dataset=dataset,
        root=folder,
        matches=[part for _, part in parts],
        notes=notes,
        expected=expected,
        has_cameras=False,
        columns={
            "occluded": [
                not inside.endswith(_WHOLE)
                for (_, inside), (_, part) in zip(places, parts, strict=True)
                for _ in part.found
            ]
        },
    )
