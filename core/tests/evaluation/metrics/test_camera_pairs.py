import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reid_core.evaluation import Labels, Search, camera_pairs, evaluate_distances, market1501
from reid_core.evaluation.metrics.camera_pairs import MAX_CAMERAS, CameraPairTable
from reid_core.evaluation.search import number_rows


def make_search(distances, query, gallery) -> Search:
    return Search(
        *number_rows(query, gallery),
        distances=lambda start, stop: distances[start:stop],
        protocol=market1501(),
        distance="given",
    )


def test_a_hand_made_example():
    # Query of camera 1: in camera 2 the match is first of two, in camera 3 second of two.
    query = Labels(np.array([7]), np.array([1]))
    gallery = Labels(np.array([7, 8, 7, 8, 7]), np.array([2, 2, 3, 3, 1]))
    table = camera_pairs(
        make_search(np.array([[0.1, 0.2, 0.4, 0.3, 0.0]]), query, gallery), {1: "door", 2: "yard"}
    )
    assert (table.query_cameras, table.gallery_cameras) == (["door"], ["yard", "3"])
    assert table.ap == [[1.0, 0.5]]
    assert table.num_queries == [[1, 1]]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), levels=st.sampled_from([2, 10_000]))
def test_each_pair_equals_an_evaluation_of_these_cameras_alone(seed, levels):
    rng = np.random.default_rng(seed)
    query = Labels(rng.integers(0, 4, 9), rng.integers(0, 3, 9))
    gallery = Labels(rng.integers(-1, 4, 30), rng.integers(0, 4, 30))
    distances = rng.integers(0, levels, (9, 30)).astype(np.float32)
    table = camera_pairs(make_search(distances, query, gallery))
    for row, query_camera in enumerate(map(int, table.query_cameras)):
        for column, gallery_camera in enumerate(map(int, table.gallery_cameras)):
            of_query = np.flatnonzero(query.camids == query_camera)
            of_gallery = np.flatnonzero(gallery.camids == gallery_camera)
            number = table.num_queries[row][column]
            if number == 0:
                assert table.ap[row][column] is None
                continue
            alone = evaluate_distances(
                distances[of_query][:, of_gallery],
                query.take(of_query),
                gallery.take(of_gallery),
                protocol=market1501(),
            )
            assert number == alone.num_valid_queries
            assert table.ap[row][column] == pytest.approx(alone.mAP, abs=1e-12)


def test_too_many_cameras_make_no_table():
    few, many = np.arange(MAX_CAMERAS), np.arange(MAX_CAMERAS + 1)
    assert CameraPairTable(few, few).is_readable
    assert not CameraPairTable(few, many).is_readable
