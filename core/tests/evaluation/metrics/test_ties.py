import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reid_core.errors import DataError
from reid_core.evaluation import (
    Embeddings,
    Labels,
    evaluate_distances,
    evaluate_retrieval,
    market1501,
)
from reid_core.evaluation.matches import MatchRanks
from reid_core.evaluation.metrics.rank_metrics import (
    average_precision,
    group_ties,
    inverse_negative_penalty,
)


def evaluate_one(distances, is_match):
    pids = np.where(is_match, 1, 2)
    return evaluate_distances(
        np.array([distances], dtype=np.float32),
        Labels(np.array([1]), np.array([0])),
        Labels(pids, np.ones(len(pids), dtype=np.int64)),
        protocol=market1501(),
    )


@pytest.mark.parametrize(
    ("is_match", "ap"),
    [
        ([True, False], 0.75),
        ([False, True], 0.75),
        ([True, False, False], 0.611111),
        ([False, False, True], 0.611111),
        ([False, True, False, False], 0.520833),
        ([True, True, False, False], 0.680556),
        ([False, True, False, True], 0.680556),
    ],
)
def test_case_b059_equal_distances_give_the_mean_over_all_orders(is_match, ap):
    result = evaluate_one([0.5] * len(is_match), is_match)
    assert result.mAP == pytest.approx(ap, abs=1e-6)
    assert result.rank(1) == pytest.approx(np.mean(is_match))


def test_a_collapsed_model_scores_chance_wherever_its_matches_stand():
    rng = np.random.default_rng(0)
    point = torch.from_numpy(rng.standard_normal((1, 2048), dtype=np.float32))
    is_match = np.zeros(300, dtype=bool)
    is_match[:10] = True
    for order in (np.arange(300), np.arange(300)[::-1], rng.permutation(300)):
        query = Embeddings(point, np.array([1]), np.array([0]))
        gallery = Embeddings(
            point.repeat(300, 1), np.where(is_match[order], 1, 2), np.ones(300, dtype=np.int64)
        )
        for distance in ("cosine", "euclidean"):
            result = evaluate_retrieval(query, gallery, distance=distance, protocol=market1501())
            assert result.rank(1) == pytest.approx(10 / 300, abs=1e-12)
            assert result.rank(1) == pytest.approx(result.chance_rank1, abs=1e-12)


def test_ties_among_matches_alone_cost_nothing():
    result = evaluate_one([0.1, 0.1, 0.1, 0.2], [True, True, True, False])
    assert result.mAP == 1.0
    assert result.mINP == pytest.approx(1.0, abs=1e-12)


def test_ties_among_mistakes_alone_change_nothing():
    tied = evaluate_one([0.1, 0.1, 0.2, 0.3], [False, False, True, True])
    untied = evaluate_one([0.05, 0.1, 0.2, 0.3], [False, False, True, True])
    assert tied.mAP == untied.mAP
    assert tied.mINP == untied.mINP
    np.testing.assert_array_equal(tied.cmc, untied.cmc)


def test_large_ties_keep_twelve_digits():
    # One match among 100,000 equal entries: AP and INP are both H(n)/n.
    size = 100_000
    ranks = MatchRanks(*(np.array([value]) for value in (0, 0, size, 1, size)))
    expected = float(np.sum(1.0 / np.arange(1, size + 1)[::-1])) / size
    groups = group_ties(ranks)
    assert average_precision(groups, ranks.num_matches)[0] == pytest.approx(expected, rel=1e-12)
    assert inverse_negative_penalty(groups, ranks.num_matches)[0] == pytest.approx(
        expected, rel=1e-12
    )


PIDS = st.integers(-1, 2)
CAMIDS = st.integers(0, 2)


@st.composite
def tied_problems(draw):
    num_query, num_gallery = draw(st.integers(1, 3)), draw(st.integers(1, 6))

    def column(values, size):
        return np.array(draw(st.lists(values, min_size=size, max_size=size)))

    distances = column(st.integers(-1, 2), num_query * num_gallery).astype(np.float32)
    return (
        distances.reshape(num_query, num_gallery),
        Labels(column(PIDS, num_query), column(CAMIDS, num_query)),
        Labels(column(PIDS, num_gallery), column(CAMIDS, num_gallery)),
    )


@settings(max_examples=150, deadline=None)
@given(problem=tied_problems())
def test_small_sets_with_ties_equal_the_mean_over_every_order(problem, plain_over_all_orders):
    reference = plain_over_all_orders(*problem, max_rank=10)
    if np.isnan(reference.ap).all():
        with pytest.raises(DataError, match="queries have a valid match"):
            evaluate_distances(*problem, protocol=market1501())
        return
    result = evaluate_distances(*problem, protocol=market1501(), max_rank=10)
    np.testing.assert_allclose(result.ap, reference.ap, atol=1e-12)
    np.testing.assert_allclose(result.inp, reference.inp, atol=1e-12)
    np.testing.assert_allclose(result.cmc, reference.cmc, atol=1e-12)
    assert result.mAP == pytest.approx(np.nanmean(reference.ap), abs=1e-12)
    assert result.mINP == pytest.approx(np.nanmean(reference.inp), abs=1e-12)
    assert result.num_skipped == np.isnan(reference.ap).sum()


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), num_query=st.integers(1, 6), num_gallery=st.integers(1, 60))
def test_random_sets_equal_plain_loops(seed, num_query, num_gallery, plain):
    rng = np.random.default_rng(seed)
    query = Labels(rng.integers(0, 4, num_query), rng.integers(0, 3, num_query))
    gallery = Labels(rng.integers(-1, 4, num_gallery), rng.integers(0, 3, num_gallery))
    distances = rng.permuted(
        np.tile(np.arange(num_gallery, dtype=np.float32), (num_query, 1)), axis=1
    )
    reference = plain(distances, query, gallery)
    if np.isnan(reference.ap).all():
        return
    for block_size in (1, 4, None):
        result = evaluate_distances(
            distances, query, gallery, protocol=market1501(), block_size=block_size
        )
        np.testing.assert_allclose(result.ap, reference.ap, atol=1e-12)
        np.testing.assert_allclose(result.inp, reference.inp, atol=1e-12)
        np.testing.assert_allclose(result.cmc, reference.cmc, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), copies=st.integers(1, 5), size=st.integers(1, 12))
def test_the_order_of_the_gallery_changes_nothing_even_with_duplicates(seed, copies, size):
    rng = np.random.default_rng(seed)
    # Few distinct vectors, many rows: equal images under different identities.
    points = torch.from_numpy(rng.standard_normal((copies, 24), dtype=np.float32))
    rows = rng.integers(0, copies, size)
    pids, camids = rng.integers(1, 3, size), rng.integers(1, 3, size)
    pids[0] = 1
    query = Embeddings(points[:1], np.array([1]), np.array([0]))
    order = rng.permutation(size)
    for distance in ("cosine", "euclidean"):
        first, second = (
            evaluate_retrieval(
                query,
                Embeddings(points[rows[o]], pids[o], camids[o]),
                distance=distance,
                protocol=market1501(),
            )
            for o in (np.arange(size), order)
        )
        assert first.mAP == pytest.approx(second.mAP, abs=1e-12)
        assert first.mINP == pytest.approx(second.mINP, abs=1e-12)
        np.testing.assert_allclose(first.cmc, second.cmc, atol=1e-12)
