"""The ranked gallery of each query, on any search."""

import numpy as np
import pytest

from reid_core.errors import UsageError
from reid_core.evaluation import Labels, market1501
from reid_core.evaluation.rank_list import rank_lists
from reid_core.evaluation.search import Search, number_rows


def search(distances, query, gallery):
    sides = number_rows(
        *(Labels(np.array(pids), np.array(camids)) for pids, camids in (query, gallery))
    )
    distances = np.asarray(distances, dtype=np.float32)
    return Search(
        *sides, lambda start, stop: distances[start:stop], market1501(), "cosine", num_gallery=5
    )


@pytest.fixture
def five():
    """Two queries and a gallery of five: the query's own camera, and junk, do not count."""
    distances = [[0.1, 0.2, 0.2, 0.3, 0.4], [0.9, 0.1, 0.1, 0.2, 0.05]]
    return search(distances, ([1, 2], [1, 2]), ([1, 2, 1, 2, -1], [1, 1, 2, 3, 1]))


def test_a_small_gallery_gives_fewer_rows(five):
    # Case B161: topk 20 with a gallery of 5.
    first, second = rank_lists(five, k=20)
    assert first.query_row == 0
    assert first.gallery_rows.tolist() == [3, 4, 5]
    assert first.is_match.tolist() == [False, True, False]
    assert first.distances.tolist() == pytest.approx([0.2, 0.2, 0.3])
    assert second.gallery_rows.tolist() == [3, 4, 5, 2]
    assert second.is_match.tolist() == [True, False, True, False]


def test_ties_stand_in_the_order_of_their_rows(five):
    (first, _) = rank_lists(five, k=1)
    assert first.gallery_rows.tolist() == [3]


def test_only_the_queries_that_are_wanted_are_ranked(five):
    (only,) = rank_lists(five, k=2, query_rows=[1, 99])
    assert only.query_row == 1


def test_no_entries_at_all_cannot_be_wanted(five):
    with pytest.raises(UsageError, match=r"topk is 0; expected .* at least 1"):
        list(rank_lists(five, k=0))


def test_the_nearest_are_those_of_a_full_sort():
    rng = np.random.default_rng(0)
    distances = np.round(rng.random((30, 200)), 2)
    pids = rng.integers(0, 9, 230)
    camids = rng.integers(0, 3, 230)
    one = search(distances, (pids[:30], camids[:30]), (pids[30:], camids[30:]))
    for row, ranked in enumerate(rank_lists(one, k=7)):
        is_out = (pids[30:] == pids[row]) & (camids[30:] == camids[row])
        order = [j for j in np.argsort(distances[row], kind="stable") if not is_out[j]]
        assert ranked.gallery_rows.tolist() == [30 + j for j in order[:7]]
