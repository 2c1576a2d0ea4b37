"""Which images of one identity are queries, and which stay in the gallery."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from reid_core.data.splitting.times import GALLERY, QUERY


class Draw(NamedTuple):
    """The images of a tested identity, by their places in what was given.

    Args:
        query: Queries; each has an image in the gallery that counts as its match.
        gallery: The gallery.
        unused: What is neither, to keep queries and gallery apart in time.
    """

    query: list[int]
    gallery: list[int]
    unused: list[int]


def draw_queries(
    cameras: Sequence[int], *, has_cameras: bool, stages: Sequence[int] | None, num_queries: int
) -> Draw | None:
    """Draw the queries of one identity.

    Args:
        cameras: Camera of each image; images are in the order they are drawn in.
        has_cameras: Whether a match must be in another camera.
        stages: What each image may be; None is both.
        num_queries: Most queries of a camera; in all where cameras are not known.

    Returns:
        The draw; None where no image can be a query with a match.
    """
    groups = list(cameras) if has_cameras else [0] * len(cameras)
    if stages is not None:
        query = _staged(groups, has_cameras, stages, num_queries)
        gallery = [place for place, stage in enumerate(stages) if stage == GALLERY]
    else:
        query = _mixed(groups, num_queries) if has_cameras else _any(len(groups), num_queries)
        gallery = sorted(set(range(len(groups))) - set(query))
    if not query:
        return None
    unused = sorted(set(range(len(groups))) - set(query) - set(gallery))
    return Draw(sorted(query), gallery, unused)


def _any(count: int, num_queries: int) -> list[int]:
    """One image stays, for the others to be found by."""
    return list(range(min(num_queries, count - 1)))


def _mixed(groups: Sequence[int], num_queries: int) -> list[int]:
    """Leave images of two cameras in the gallery, or of one that gives no query."""
    by_camera: dict[int, list[int]] = {}
    for place, camera in enumerate(groups):
        by_camera.setdefault(camera, []).append(place)
    if len(by_camera) < 2:
        return []
    several = [places for places in by_camera.values() if len(places) > 1]
    single = [places[0] for places in by_camera.values() if len(places) == 1]
    # A camera with several images keeps one of them. Where there are not two such cameras, the
    # image of another camera stays as a whole: it is what the rest is matched with.
    if len(several) < 2:
        single = single[1:]
    return [
        place for places in several for place in places[: min(num_queries, len(places) - 1)]
    ] + (single)


def _staged(
    groups: Sequence[int], has_cameras: bool, stages: Sequence[int], num_queries: int
) -> list[int]:
    waiting = {groups[place] for place, stage in enumerate(stages) if stage == GALLERY}
    drawn: dict[int, list[int]] = {}
    for place, stage in enumerate(stages):
        others = waiting - {groups[place]} if has_cameras else waiting
        if stage == QUERY and others and len(drawn.get(groups[place], ())) < num_queries:
            drawn.setdefault(groups[place], []).append(place)
    return [place for places in drawn.values() for place in places]
