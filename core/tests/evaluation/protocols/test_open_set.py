"""open_set: queries of whom nobody is enrolled belong to the measurement."""

import numpy as np
import pytest

from reid_core.errors import ConfigError, DataError
from reid_core.evaluation import Labels, evaluate_distances, market1501, match_coverage, open_set


def labels(pids, camids):
    return Labels(np.array(pids), np.array(camids))


QUERY, GALLERY = labels([1, 2, 9], [0, 0, 0]), labels([1, 3, 2], [1, 1, 0])
# Query 1 has its match second. Query 2 is enrolled by its own camera alone, query 9 not at all.
DISTANCES = np.array([[0.2, 0.1, 0.3], [0.3, 0.2, 0.1], [0.1, 0.2, 0.3]])


def test_closed_set_figures_are_over_the_mated_queries_and_the_others_are_unknown():
    result = evaluate_distances(DISTANCES, QUERY, GALLERY, protocol=open_set())
    assert (result.mAP, result.rank(1)) == (0.5, 0.0)
    counts = (result.num_queries, result.num_valid_queries, result.num_unknown, result.num_skipped)
    assert counts == (3, 1, 2, 0)
    assert "0 skipped, 2 unknown" in result.summary()
    closed = evaluate_distances(DISTANCES, QUERY, GALLERY, protocol=market1501())
    assert (closed.num_unknown, closed.num_skipped) == (0, 2)


def test_with_any_camera_the_own_one_enrols_too():
    result = evaluate_distances(DISTANCES, QUERY, GALLERY, protocol=open_set(cameras="any"))
    assert (result.num_valid_queries, result.num_unknown) == (2, 1)
    assert result.mAP == pytest.approx((1 / 2 + 1) / 2)


def test_coverage_counts_unknown_queries_apart():
    coverage = match_coverage(QUERY, GALLERY, protocol=open_set())
    assert (coverage.num_valid, coverage.num_unknown, coverage.num_skipped) == (1, 2, 0)
    closed = match_coverage(QUERY, GALLERY, protocol=market1501())
    assert (closed.num_unknown, closed.num_absent, closed.num_excluded) == (0, 1, 1)


def test_where_nobody_is_enrolled_there_is_nothing_to_measure():
    with pytest.raises(DataError, match=r"0 of 2 queries .*, 2 are unknown to the gallery\. What"):
        evaluate_distances(
            np.zeros((2, 1)), labels([7, 8], [0, 0]), labels([1], [1]), protocol=open_set()
        )


def test_its_form_without_cameras_looks_at_none():
    assert open_set().needs_cameras
    assert open_set().without_cameras() == open_set(cameras="any")
    assert not open_set(cameras="any").needs_cameras


def test_another_choice_of_cameras_is_refused():
    with pytest.raises(ConfigError, match=r"cameras is 'own'; expected 'other' or 'any'"):
        open_set(cameras="own")
