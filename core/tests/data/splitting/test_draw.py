from __future__ import annotations

from itertools import product

import pytest

from reid_core.data.splitting.draw import draw_queries
from reid_core.data.splitting.times import BETWEEN, GALLERY, QUERY


def has_match(query: int, gallery: list[int], cameras: tuple[int, ...]) -> bool:
    return any(cameras[place] != cameras[query] for place in gallery)


@pytest.mark.parametrize("num_queries", [1, 2])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_each_query_has_a_match_in_another_camera_for_every_arrangement(
    count: int, num_queries: int
) -> None:
    for cameras in product(range(3), repeat=count):
        draw = draw_queries(cameras, has_cameras=True, stages=None, num_queries=num_queries)
        if len(set(cameras)) < 2:
            assert draw is None
            continue
        assert draw is not None, cameras
        assert sorted(draw.query + draw.gallery) == list(range(count))
        assert draw.query
        assert not draw.unused
        assert all(has_match(query, draw.gallery, cameras) for query in draw.query), cameras
        for camera in set(cameras):
            assert sum(cameras[query] == camera for query in draw.query) <= num_queries


def test_a_camera_with_several_images_keeps_one_of_them() -> None:
    draw = draw_queries([0, 0, 0, 1, 1], has_cameras=True, stages=None, num_queries=5)
    assert draw is not None
    assert draw.query == [0, 1, 3]
    assert draw.gallery == [2, 4]


@pytest.mark.parametrize(
    ("count", "num_queries", "expected"), [(1, 1, None), (2, 1, 1), (3, 1, 1), (3, 9, 2)]
)
def test_without_cameras_one_image_stays(
    count: int, num_queries: int, expected: int | None
) -> None:
    draw = draw_queries([0] * count, has_cameras=False, stages=None, num_queries=num_queries)
    assert (None if draw is None else len(draw.query)) == expected
    assert draw is None or len(draw.gallery) == count - len(draw.query)


def test_stages_say_what_an_image_may_be() -> None:
    stages = [GALLERY, QUERY, BETWEEN, QUERY, GALLERY]
    draw = draw_queries([0] * 5, has_cameras=False, stages=stages, num_queries=1)
    assert draw is not None
    assert (draw.query, draw.gallery, draw.unused) == ([1], [0, 4], [2, 3])


@pytest.mark.parametrize("count", [2, 3, 4])
def test_staged_queries_have_a_match_in_another_camera(count: int) -> None:
    for cameras in product(range(2), repeat=count):
        for stages in product([GALLERY, BETWEEN, QUERY], repeat=count):
            draw = draw_queries(cameras, has_cameras=True, stages=stages, num_queries=1)
            earlier = [place for place in range(count) if stages[place] == GALLERY]
            fit = [
                place
                for place in range(count)
                if stages[place] == QUERY and has_match(place, earlier, cameras)
            ]
            assert (draw is None) == (not fit)
            if draw is not None:
                assert draw.gallery == earlier
                assert set(draw.query) <= set(fit)
                assert {cameras[q] for q in draw.query} == {cameras[q] for q in fit}
