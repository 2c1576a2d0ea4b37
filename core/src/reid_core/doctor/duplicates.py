"""Images that are the same pixel for pixel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from reid_core.doctor.files import FILTERED, is_filtered
from reid_core.doctor.finding import Finding, counted, some
from reid_core.doctor.row_labels import Place, RowLabels
from reid_core.doctor.scan import Scan

#: What is wrong with two of a kind in each place, and what to do.
_HARM: dict[Place, tuple[str, str]] = {
    "train-and-test": (
        "in training and in the test, which is easier than it looks",
        "take them out of training or out of the test",
    ),
    "query-and-gallery": (
        "in query and gallery, where a query finds itself",
        "take them out of one of the two",
    ),
    "other-identity": (
        "under two identities, so that one of the labels is wrong",
        "look at them, and keep those with the right label",
    ),
    "same-identity": (
        "twice under one identity",
        "keep one of each: a second one adds nothing",
    ),
}
#: And of identities of two sets, which are never one.
_TWO_SETS = (
    "in two sets, which are trained as two identities",
    "take them out of one of the two sets",
)


def check_duplicates(scan: Scan, labels: RowLabels) -> Iterator[Finding]:
    """Find images that are the same pixel for pixel, copied or saved anew without loss.

    Args:
        scan: The images of all sets.
        labels: Their labels.
    """
    groups: dict[tuple[str, Place, bool, bool], list[list[int]]] = {}
    for rows in _groups(scan, labels):
        manifest, _ = labels.at(rows[0])
        place = labels.place(rows)
        is_left_out = place == "query-and-gallery" and _are_filtered(rows, labels)
        is_across_sets = labels.are_of_several_sets(rows)
        groups.setdefault((manifest.name, place, is_left_out, is_across_sets), []).append(rows)
    for (name, place, is_left_out, is_across_sets), found in groups.items():
        harm, advice = harm_of(place, is_across_sets=is_across_sets)
        if is_left_out:
            harm, advice = FILTERED
        anew = sum(len(set(scan.facts["file_digest"][rows].tolist())) > 1 for rows in found)
        details = [
            f"{anew} of them saved anew without loss" if anew else "",
            details_of(found, place, labels, is_across_sets=is_across_sets),
        ]
        extra = ", ".join(detail for detail in details if detail)
        yield Finding(
            f"duplicates-{place}",
            "info" if is_left_out else "warning",
            name,
            f"{counted(len(found), 'image is', 'images are')} the same pixel for pixel {harm}"
            + (f" ({extra})" if extra else ""),
            advice,
            len(found),
            some(labels.describe(rows) for rows in found),
        )


def harm_of(place: Place, *, is_across_sets: bool) -> tuple[str, str]:
    """Return what is wrong with copies in a place, and what to do.

    Args:
        place: Where they stand.
        is_across_sets: Whether they are of more than one set.
    """
    return _TWO_SETS if is_across_sets and place == "other-identity" else _HARM[place]


def details_of(
    found: Sequence[Sequence[int]], place: Place, labels: RowLabels, *, is_across_sets: bool
) -> str:
    """Say which copies are also of different identities; nothing where that goes without saying.

    Args:
        found: Rows that look alike.
        place: Where they stand.
        labels: The labels of all rows.
        is_across_sets: Whether they are of more than one set.
    """
    if place == "other-identity":
        return ""
    if is_across_sets:
        return "in two sets"
    others = sum(labels.differ(rows) for rows in found)
    return f"{others} under different identities" if others else ""


def _are_filtered(rows: list[int], labels: RowLabels) -> bool:
    places = [labels.at(row) for row in rows]
    manifest = places[0][0]
    is_one_set = all(one is manifest for one, _ in places)
    return is_one_set and is_filtered(manifest, [local for _, local in places])


def _groups(scan: Scan, labels: RowLabels) -> Iterator[list[int]]:
    """Yield rows with equal pixels, in the order of their first rows; blank images are no one's."""
    rows = np.flatnonzero(scan.facts["is_read"] & ~scan.facts["is_blank"])
    digests = scan.facts["pixel_digest"][rows]
    order = np.argsort(digests, kind="stable")
    ordered = digests[order]
    cuts = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    starts, stops = np.append(0, cuts), np.append(cuts, len(order))
    several = np.flatnonzero(stops - starts > 1)
    groups = [rows[order[starts[i] : stops[i]]].tolist() for i in several]
    for group in sorted(groups):
        if len(distinct := _distinct_files(group, labels)) > 1:
            yield distinct


def _distinct_files(rows: list[int], labels: RowLabels) -> list[int]:
    """Return the first row of each file: one that is listed twice is told by its path."""
    by_file: dict[tuple[str, str], int] = {}
    for row in rows:
        manifest, local = labels.at(row)
        by_file.setdefault((manifest.name, str(manifest.paths[local])), row)
    return list(by_file.values())
