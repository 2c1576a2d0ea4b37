"""leave_one_out: every image searches all others."""

import numpy as np
import pytest
import torch

from reid_core.errors import DataError, UsageError
from reid_core.evaluation import (
    Embeddings,
    Labels,
    evaluate_distances,
    evaluate_retrieval,
    leave_one_out,
    match_coverage,
)


def side(values, pids, camids=None, **columns):
    camids = np.zeros(len(pids), dtype=int) if camids is None else np.array(camids)
    return Embeddings(
        torch.tensor(values, dtype=torch.float32).reshape(-1, 1),
        np.array(pids, dtype=int),
        camids,
        {name: np.array(column) for name, column in columns.items()},
    )


NONE = side([], [])


@pytest.mark.parametrize("sides", ["gallery alone", "query alone", "both"])
def test_case_b052_a_lone_label_is_left_out_and_counted(sides):
    # 0 finds 1 first (distance 1, then 5), and 1 finds 0 (1, then 4); 5 has no other of label 1.
    whole = side([0, 1, 5], [0, 0, 1])
    query, gallery = {
        "gallery alone": (NONE, whole),
        "query alone": (whole, NONE),
        "both": (side([0], [0]), side([1, 5], [0, 1])),
    }[sides]
    result = evaluate_retrieval(query, gallery, distance="euclidean", protocol=leave_one_out())
    assert (result.rank(1), result.mAP) == (1.0, 1.0)
    assert (result.num_queries, result.num_valid_queries, result.num_skipped) == (3, 2, 1)
    assert result.num_candidates.tolist()[:2] == [2, 2]
    assert "1 skipped" in result.summary()
    assert np.isnan(result.ap[2])
    coverage = match_coverage(query.labels, gallery.labels, protocol=leave_one_out())
    assert (coverage.num_queries, coverage.num_valid, coverage.num_absent) == (3, 2, 1)


def test_case_b052_where_all_labels_are_lone_the_figures_are_undefined():
    with pytest.raises(
        DataError, match=r"0 of 3 queries.* all figures are undefined: 3 have an"
    ) as it:
        evaluate_retrieval(
            NONE, side([0, 1, 5], [0, 1, 2]), distance="euclidean", protocol=leave_one_out()
        )
    assert "add a second image of identities: each has one alone" in str(it.value)


def test_figures_are_those_of_plain_loops():
    rng = np.random.default_rng(0)
    values, pids = rng.random(30).astype(np.float32), rng.integers(0, 6, 30)
    result = evaluate_retrieval(
        side(values[:10], pids[:10]),
        side(values[10:], pids[10:]),
        distance="euclidean",
        protocol=leave_one_out(),
        block_size=7,
    )
    for row in range(30):
        others = sorted((abs(values[row] - values[j]), pids[j]) for j in range(30) if j != row)
        hits = [rank for rank, (_, pid) in enumerate(others, 1) if pid == pids[row]]
        expected = np.mean([n / rank for n, rank in enumerate(hits, 1)])
        assert result.ap[row] == pytest.approx(expected)


def test_its_own_camera_can_be_left_out():
    # Row 0 has a match in its camera (row 1) and one elsewhere (row 2), after the mistake row 3.
    whole = side([0, 1, 3, 2], [1, 1, 1, 2], [0, 0, 1, 1])
    free = evaluate_retrieval(NONE, whole, distance="euclidean", protocol=leave_one_out())
    other = evaluate_retrieval(
        NONE, whole, distance="euclidean", protocol=leave_one_out(other_cameras=True)
    )
    assert free.ap[0] == pytest.approx((1 + 2 / 3) / 2)
    assert other.ap[0] == pytest.approx(1 / 2)
    assert leave_one_out(other_cameras=True).needs_cameras
    assert not leave_one_out().needs_cameras
    assert "own camera left out" in other.protocol_description


def test_junk_and_distractors_are_no_queries():
    whole = side([0, 1, 2, 3, 4], [1, 1, -1, 0, 0], distractors=[False, False, False, True, True])
    result = evaluate_retrieval(
        side([], [], distractors=np.empty(0, bool)),
        whole,
        distance="euclidean",
        protocol=leave_one_out(),
    )
    assert (result.num_queries, result.num_skipped) == (2, 0)
    assert result.num_candidates.tolist() == [3, 3, 0, 0, 0]


def test_distances_of_queries_to_a_gallery_do_not_suffice():
    labels = Labels(np.array([0, 0]), np.array([0, 0]))
    with pytest.raises(UsageError, match=r"leave_one_out compares queries with each other.*evalua"):
        evaluate_distances(np.zeros((2, 2)), labels, labels, protocol=leave_one_out())
