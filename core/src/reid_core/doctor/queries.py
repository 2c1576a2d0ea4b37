"""Queries that have nothing to find, by reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reid_core.data.manifest import Manifest
from reid_core.data.nobody import is_junk, stands_for_nobody
from reid_core.doctor.finding import Finding, counted, some


@dataclass(frozen=True, eq=False)
class Matches:
    """What the labels tell about each query of a set.

    Args:
        rows: (Q,) rows of the queries in the manifest; junk is left out.
        is_absent: (Q,) bool, the identity is not in the gallery.
        is_own_camera_only: (Q,) bool, the gallery has it from the query's own camera only.
        is_itself_only: (Q,) bool, the gallery has it as the query's own file only.
    """

    rows: NDArray[np.intp]
    is_absent: NDArray[np.bool_]
    is_own_camera_only: NDArray[np.bool_]
    is_itself_only: NDArray[np.bool_]

    @property
    def num_valid(self) -> int:
        """Number of queries with something to find."""
        without = self.is_absent | self.is_own_camera_only | self.is_itself_only
        return len(self.rows) - int(without.sum())


def find_matches(manifest: Manifest, *, uses_cameras: bool) -> Matches:
    """Sort the queries of a set by what the gallery has for them.

    Args:
        manifest: The whole set.
        uses_cameras: Whether matches in the query's own camera do not count.
    """
    identities = manifest.identities
    pids = manifest.pid_codes.astype(np.int64)
    camids = manifest.camid_codes.astype(np.int64)
    is_somebody = ~is_junk(manifest)
    query = np.flatnonzero((manifest.splits == "query") & is_somebody)
    gallery = np.flatnonzero((manifest.splits == "gallery") & is_somebody)
    num_matches = np.bincount(pids[gallery], minlength=len(identities))[pids[query]]
    is_absent = num_matches == 0
    pairs = pids * (int(camids.max(initial=0)) + 1) + camids
    seen, times = np.unique(pairs[gallery], return_counts=True)
    own = _looked_up(pairs[query], seen, times)
    is_own_only = ~is_absent & (own == num_matches) & uses_cameras
    itself = _same_file(manifest, query, gallery, pids)
    is_itself_only = ~is_absent & ~is_own_only & (itself == num_matches)
    return Matches(query, is_absent, is_own_only, is_itself_only)


def check_queries(
    manifest: Manifest, *, uses_cameras: bool, pools: bool = False
) -> Iterator[Finding]:
    """Find queries without a valid match.

    Args:
        manifest: The whole set.
        uses_cameras: Whether the protocol leaves out matches in the query's own camera.
        pools: Whether the protocol makes one pool of query and gallery; what it cuts of that is
            then its own.

    Yields:
        One error where no query has one; else a warning for each reason.
    """
    is_query, is_gallery = manifest.splits == "query", manifest.splits == "gallery"
    if pools and (is_query | is_gallery).any():
        yield from _check_pool(manifest, is_query | is_gallery)
        return
    if not is_query.any() or not is_gallery.any():
        yield from _incomplete(manifest, int(is_query.sum()), int(is_gallery.sum()), pools)
        return
    uses_cameras = uses_cameras and manifest.has_cameras
    matches = find_matches(manifest, uses_cameras=uses_cameras)
    if len(matches.rows) and matches.num_valid == 0:
        yield _none_valid(manifest, matches, uses_cameras=uses_cameras)
        return
    yield from _reasons(manifest, matches)
    yield from _not_asked_for(manifest)


def _reasons(manifest: Manifest, matches: Matches) -> Iterator[Finding]:
    reasons = (
        (
            "query-identity-absent",
            matches.is_absent,
            "show an identity that is not in the gallery",
            "add images of it to the gallery, or take the query out; check that query and gallery "
            "spell identities alike",
        ),
        (
            "query-own-camera-only",
            matches.is_own_camera_only,
            "show an identity that the gallery has from the query's own camera only, which does "
            "not count",
            "add gallery images of other cameras, or take the query out; "
            "evaluate.protocol=no_camera turns the camera filter off",
        ),
        (
            "query-itself-only",
            matches.is_itself_only,
            "have only their own file as a match in the gallery",
            "take the file out of the gallery, and add another image of the identity",
        ),
    )
    for code, chosen, what, advice in reasons:
        if number := int(chosen.sum()):
            yield Finding(
                code,
                "warning",
                manifest.name,
                f"{number} of {len(matches.rows)} queries have no valid match and are skipped: "
                f"they {what}",
                advice,
                number,
                some(_query(manifest, int(row)) for row in matches.rows[chosen]),
            )


def _not_asked_for(manifest: Manifest) -> Iterator[Finding]:
    codes, number = manifest.pid_codes, len(manifest.identities)
    in_gallery = (manifest.splits == "gallery") & ~stands_for_nobody(manifest)
    is_offered = np.bincount(codes[in_gallery], minlength=number) > 0
    is_asked_for = np.bincount(codes[manifest.splits == "query"], minlength=number) > 0
    others = manifest.identities[is_offered & ~is_asked_for]
    if len(others):
        yield Finding(
            "gallery-only-identities",
            "info",
            manifest.name,
            f"{counted(len(others), 'identity', 'identities')} of the gallery have no query: they "
            "can be found by mistake only",
            "nothing has to be done if they are meant as distractors",
            len(others),
            some(others),
        )


def _none_valid(manifest: Manifest, matches: Matches, *, uses_cameras: bool) -> Finding:
    number = len(matches.rows)
    reasons, advice = [], []
    if absent := int(matches.is_absent.sum()):
        reasons.append(f"{absent} show an identity that is not in the gallery")
        advice.append("check that query and gallery hold the same identities, spelled alike")
    if own := int(matches.is_own_camera_only.sum()):
        tested = np.unique(manifest.camids[manifest.splits != "train"])
        cameras = f" (all images are of camera {tested[0]})" if len(tested) == 1 else ""
        reasons.append(f"{own} are in the gallery from their own camera only{cameras}")
        advice.append(
            "say in column camid which camera took each image; if that is not known, turn the "
            "camera filter off: --set evaluate.protocol=no_camera"
        )
    if itself := int(matches.is_itself_only.sum()):
        reasons.append(f"{itself} have only their own file as a match")
        advice.append("do not list one file in query and gallery")
    kind = "cross-camera match" if uses_cameras else "match"
    return Finding(
        "no-valid-query",
        "error",
        manifest.name,
        f"splits query and gallery: 0 of {number} queries have a {kind}, so there is nothing to "
        f"measure: {', '.join(reasons)}",
        "; ".join(advice),
        number,
        some(_query(manifest, int(row)) for row in matches.rows),
    )


def _check_pool(manifest: Manifest, is_pooled: NDArray[np.bool_]) -> Iterator[Finding]:
    """Find a pool in which no identity has two images."""
    is_somebody = is_pooled & ~stands_for_nobody(manifest)
    numbers = np.bincount(manifest.pid_codes[is_somebody], minlength=len(manifest.identities))
    lone = manifest.identities[numbers == 1]
    if (numbers > 1).any():
        return
    yield Finding(
        "no-valid-query",
        "error",
        manifest.name,
        f"splits query and gallery: none of {counted(len(lone), 'identity', 'identities')} has two "
        "images, so nobody can be found, all figures are undefined and there is nothing to measure",
        "add a second image of identities; check how identities are read ('reid-data stats')",
        len(lone),
        some(lone),
    )


def _incomplete(manifest: Manifest, queries: int, gallery: int, pools: bool) -> Iterator[Finding]:
    if not queries and not gallery:
        if len(manifest):
            yield Finding(
                "no-test-images",
                "info",
                manifest.name,
                "there is no query and no gallery: all images are for training",
                "nothing has to be done: tested, each image searches all others"
                if pools
                else "cut the set with 'reid-data split', name another one by data.test, let each "
                "image search all others by --set evaluate.protocol=leave_one_out, or train "
                "without a test: --set evaluate.every=0 --set evaluate.at_start=false",
                len(manifest),
            )
        return
    there, missing = ("query", "gallery") if queries else ("gallery", "query")
    yield Finding(
        "incomplete-test",
        "error",
        manifest.name,
        f"there are {counted(queries or gallery, 'image')} of split {there} and none of split "
        f"{missing}, so nothing can be evaluated",
        f"add the {missing} images, cut the set anew with 'reid-data split', or let each image "
        "search all others by --set evaluate.protocol=leave_one_out",
        queries or gallery,
    )


def _query(manifest: Manifest, row: int) -> str:
    camera = f", camera {manifest.camids[row]}" if manifest.has_cameras else ""
    return f"{manifest.paths[row]} (identity {manifest.pids[row]}{camera})"


def _looked_up(
    keys: NDArray[np.int64], known: NDArray[np.int64], values: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Return the value of each key, 0 where it is not known; ``known`` is sorted."""
    if not len(known):
        return np.zeros(len(keys), dtype=np.intp)
    places = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.where(known[places] == keys, values[places], 0)


def _same_file(
    manifest: Manifest,
    query: NDArray[np.intp],
    gallery: NDArray[np.intp],
    pids: NDArray[np.int64],
) -> NDArray[np.intp]:
    """Count for each query the gallery rows of its identity that are the very same file."""
    if "boxes" in manifest.columns:
        return np.zeros(len(query), dtype=np.intp)  # one frame shows many
    wanted = set(manifest.paths[query].tolist())
    times: dict[tuple[str, int], int] = {}
    for path, pid in zip(manifest.paths[gallery].tolist(), pids[gallery].tolist(), strict=True):
        if path in wanted:
            times[path, pid] = times.get((path, pid), 0) + 1
    if not times:
        return np.zeros(len(query), dtype=np.intp)
    keys = zip(manifest.paths[query].tolist(), pids[query].tolist(), strict=True)
    return np.array([times.get(key, 0) for key in keys], dtype=np.intp)
