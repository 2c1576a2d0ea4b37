"""Images that are the same picture: made smaller, compressed again, brightened or mirrored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from reid_core.data.image_reader import BrokenImageError
from reid_core.data.image_rows import ImageRows
from reid_core.doctor.duplicates import details_of, harm_of
from reid_core.doctor.finding import Finding, counted, some
from reid_core.doctor.fingerprint import shrunk
from reid_core.doctor.laid_over import lay_over
from reid_core.doctor.near_candidates import Candidates, find_candidates
from reid_core.doctor.picture_match import SHARP, Pictures, is_same_in_detail, match, mirrored
from reid_core.doctor.row_labels import Place, RowLabels
from reid_core.doctor.scan import Scan, streamed
from reid_core.doctor.thumbnails import Thumbnails
from reid_core.progress import track

_PAIRS_AT_ONCE = 64
#: Pictures that were read again, of 12 KB each, that are kept.
_KEPT = 4096

_Sharp = Callable[[int], NDArray[np.uint8]]


def check_near_duplicates(scan: Scan, labels: RowLabels) -> Iterator[Finding]:
    """Find pictures that are in two splits, or under two identities, though not pixel for pixel.

    Pairs of one identity in one split are not looked for: the frames of a video are such.

    Args:
        scan: The images of all sets, with small versions; without them nothing is looked for.
        labels: Their labels.
    """
    if scan.thumbnails is None:
        return
    candidates = find_candidates(scan, labels)
    found: dict[tuple[str, Place, bool], list[list[int]]] = {}
    for pair in _copies(scan, scan.thumbnails, labels, candidates.pairs):
        name, place = labels.at(pair[0])[0].name, labels.place(pair)
        found.setdefault((name, place, labels.are_of_several_sets(pair)), []).append(pair)
    for (name, place, is_across_sets), same in found.items():
        yield _finding(name, place, same, labels, is_across_sets=is_across_sets)
    yield from _not_compared(scan, candidates)


def _copies(
    scan: Scan, thumbnails: Thumbnails, labels: RowLabels, pairs: NDArray[np.int64]
) -> Iterator[list[int]]:
    sharp = lru_cache(maxsize=_KEPT)(partial(_read_again, ImageRows(scan.manifests)))
    parts = [pairs[i : i + _PAIRS_AT_ONCE] for i in range(0, len(pairs), _PAIRS_AT_ONCE)]
    compare = partial(_compare, thumbnails=thumbnails, pids=labels.pids, sharp=sharp)
    results = track(
        streamed(compare, parts), total=len(parts), description="comparing similar images"
    )
    for part, is_copy in zip(parts, results, strict=True):
        yield from part[is_copy].tolist()


def _compare(
    pairs: NDArray[np.int64], thumbnails: Thumbnails, pids: NDArray[np.int64], sharp: _Sharp
) -> NDArray[np.bool_]:
    """Say which pairs of rows are copies, by their small versions, then in detail."""
    one, other = (Pictures(thumbnails.fine(rows), thumbnails.coarse(rows)) for rows in (*pairs.T,))
    found = match(one, other, is_same_identity=pids[pairs[:, 0]] == pids[pairs[:, 1]])
    is_copy = found.is_copy
    rows = np.flatnonzero(found.may_be_copy)
    if len(rows):
        left, right = (
            np.stack([sharp(row) for row in ends]).astype(np.float32)
            for ends in pairs[rows].T.tolist()
        )
        right = mirrored(right, found.is_mirrored[rows])
        is_copy[rows] = is_same_in_detail(lay_over(left, right, found.motion[rows]))
    return is_copy


def _read_again(rows: ImageRows, row: int) -> NDArray[np.uint8]:
    try:
        image = rows.read(row)
    except BrokenImageError:
        # It was there a moment ago; a single colour is no copy of anything.
        return np.zeros((SHARP, SHARP, 3), dtype=np.uint8)
    return shrunk(np.ascontiguousarray(image.permute(1, 2, 0).numpy()), SHARP)


def _finding(
    name: str, place: Place, pairs: list[list[int]], labels: RowLabels, *, is_across_sets: bool
) -> Finding:
    harm, advice = harm_of(place, is_across_sets=is_across_sets)
    extra = details_of(pairs, place, labels, is_across_sets=is_across_sets)
    return Finding(
        f"near-duplicates-{place}",
        "warning",
        name,
        f"{counted(len(pairs), 'pair of pictures is', 'pairs of pictures are')} the same, resized, "
        f"compressed anew, brightened or mirrored, {harm}" + (f" ({extra})" if extra else ""),
        advice,
        len(pairs),
        some(labels.describe(pair) for pair in pairs),
    )


def _not_compared(scan: Scan, candidates: Candidates) -> Iterator[Finding]:
    if number := len(candidates.has_more):
        yield Finding(
            "similar-pictures-not-compared",
            "info",
            ", ".join(dict.fromkeys(manifest.name for manifest in scan.manifests)),
            f"{counted(number, 'picture looks', 'pictures look')} like more others than there is "
            "time to compare with: only the most alike ones were looked at",
            "nothing has to be done: copies are among the most alike; to be sure, check a part of "
            "the set (reid-data sample)",
            number,
        )
