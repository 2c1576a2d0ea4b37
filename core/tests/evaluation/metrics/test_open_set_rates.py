import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reid_core.evaluation import (
    Embeddings,
    Labels,
    Search,
    evaluate_retrieval,
    no_camera,
    open_set_rates,
    searches,
)
from reid_core.evaluation.protocols.open_set import open_set
from reid_core.evaluation.search import number_rows


def make_search(distances, query_pids, gallery_pids) -> Search:
    sides = number_rows(
        Labels(np.array(query_pids), np.zeros(len(query_pids), dtype=int)),
        Labels(np.array(gallery_pids), np.ones(len(gallery_pids), dtype=int)),
    )
    return Search(
        *sides,
        distances=lambda start, stop: distances[start:stop],
        protocol=no_camera(),
        distance="given",
    )


def test_a_hand_made_example():
    # Queries 1, 2 and 3 are in the gallery; ten others are not, the nearest answer of each being
    # .10, .11, …, .19. The mates are at .05, .105 and .3.
    mates = [0.05, 0.105, 0.3]
    distances = np.full((13, 3), 0.9, dtype=np.float32)
    distances[[0, 1, 2], [0, 1, 2]] = mates
    distances[3:, 0] = np.linspace(0.10, 0.19, 10)
    rates = open_set_rates(make_search(distances, [1, 2, 3, *range(10, 20)], [1, 2, 3]))
    assert (rates.num_mated, rates.num_unmated) == (3, 10)
    # One of ten may find somebody at 1e-1: the threshold is below .11, so that .3 misses.
    assert rates.fnir_at_fpir["1e-1"] == pytest.approx(1 / 3)
    # None may at 1e-2: it is below .10, and .105 misses too.
    assert rates.fnir_at_fpir["1e-2"] == pytest.approx(2 / 3)
    # 36 pairs of two identities; three of them may be accepted at 1e-1, those up to .12.
    assert rates.fnmr_at_fmr["1e-1"] == pytest.approx(1 / 3)
    assert rates.fnmr_at_fmr["1e-2"] == pytest.approx(2 / 3)


@settings(max_examples=50, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    levels=st.sampled_from([3, 1000]),
    num_query=st.integers(2, 40),
)
def test_rates_equal_a_trial_of_every_threshold(seed, levels, num_query):
    rng = np.random.default_rng(seed)
    query_pids = rng.integers(0, 6, num_query)
    gallery_pids = np.array([0, 1, 2, 0, 1, 2, -1])
    distances = rng.integers(0, levels, (num_query, 7)).astype(np.float32)
    is_mated = query_pids < 3
    if is_mated.all() or not is_mated.any():
        return
    rates = open_set_rates(make_search(distances, query_pids, gallery_pids))
    counted = distances[:, :6]
    nearest = counted.min(axis=1)[~is_mated]
    mates = np.array(
        [
            counted[row, gallery_pids[:6] == query_pids[row]].min()
            for row in np.flatnonzero(is_mated)
        ]
    )
    thresholds = [-1.0, *np.unique(distances).tolist()]
    for name, fnir in rates.fnir_at_fpir.items():
        allowed = [t for t in thresholds if np.mean(nearest <= t) <= float(name)]
        assert fnir == pytest.approx(np.mean(mates > max(allowed)), abs=1e-12)


def test_without_unknown_queries_there_is_no_rate_of_searches():
    rates = open_set_rates(make_search(np.array([[0.1, 0.2]]), [1], [1, 2]))
    assert (rates.num_mated, rates.num_unmated, rates.fnir_at_fpir) == (1, 0, {})
    assert rates.fnmr_at_fmr["1e-3"] == 0.0


@pytest.mark.parametrize("seed", range(5))
def test_unknown_probes_are_those_that_the_figures_count(seed):
    # Many are enrolled by their own camera alone: they have no mate either.
    rng = np.random.default_rng(seed)
    query, gallery = (
        Embeddings(
            torch.from_numpy(rng.standard_normal((size, 4), dtype=np.float32)),
            rng.integers(0, 12, size),
            rng.integers(0, 2, size),
        )
        for size in (30, 16)
    )
    rule = open_set()
    result = evaluate_retrieval(query, gallery, protocol=rule)
    rates = open_set_rates(next(searches(query, gallery, distance="cosine", protocol=rule)))
    own_camera_alone = np.isin(query.pids, gallery.pids).sum() - result.num_valid_queries
    assert own_camera_alone > 0
    assert rates.num_unmated == result.num_unknown
    assert rates.num_mated == result.num_valid_queries
