import numpy as np
import pytest

from reid_core.errors import DataError
from reid_core.evaluation import Labels, market1501, match_coverage, no_camera
from reid_core.evaluation.coverage import count_pairs


def coverage(query, gallery):
    return match_coverage(
        Labels(*map(np.array, query)), Labels(*map(np.array, gallery)), protocol=market1501()
    )


def test_queries_are_counted_by_why_they_have_no_match():
    found = coverage(([1, 2, 3, 4], [0, 0, 0, 0]), ([1, 2, 3, 3], [1, 0, 0, 0]))
    assert (found.num_queries, found.num_valid) == (4, 1)
    assert (found.num_absent, found.num_excluded) == (1, 2)
    found.require_valid()


def test_case_b038_one_camera_is_refused_before_training_with_the_rule_and_a_way_out():
    found = coverage(([1, 2], [0, 0]), ([1, 1, 2, 2], [0, 0, 0, 0]))
    with pytest.raises(DataError) as caught:
        found.require_valid()
    message = str(caught.value)
    assert "0 of 2 queries have a valid match" in message
    assert "2 have only matches that protocol market1501 leaves out" in message
    assert market1501().description in message
    assert "turn the camera filter off with evaluate.protocol=no_camera" in message
    assert "same pids" not in message


def test_identities_that_are_not_in_the_gallery_get_their_own_advice():
    with pytest.raises(DataError, match=r"2 have an identity .* same pids") as caught:
        coverage(([1, 2], [0, 0]), ([3, 4], [1, 1])).require_valid()
    assert "camids" not in str(caught.value)


def test_many_queries_are_counted_as_plain_loops_count_them():
    rng = np.random.default_rng(0)
    query = (rng.integers(0, 30, 500), rng.integers(0, 2, 500))
    gallery = (rng.integers(-1, 25, 60), rng.integers(0, 2, 60))
    valid = absent = 0
    for pid, camid in zip(*query, strict=True):
        same = [c for p, c in zip(*gallery, strict=True) if p == pid]
        valid += any(c != camid for c in same)
        absent += not same
    found = coverage(query, gallery)
    assert (found.num_valid, found.num_absent) == (valid, absent)
    assert found.num_excluded == 500 - valid - absent


@pytest.mark.parametrize("protocol", [market1501(), no_camera()])
def test_matches_counted_at_once_are_those_counted_pair_by_pair(protocol):
    rng = np.random.default_rng(1)
    for size in (0, 1, 300):
        query = Labels(rng.integers(-1, 20, size), rng.integers(-2, 3, size))
        gallery = Labels(rng.integers(-1, 25, 2 * size), rng.integers(-2, 4, 2 * size))
        counted = protocol.count_matches(query, gallery)
        assert counted.tolist() == count_pairs(query, gallery, protocol).tolist()
