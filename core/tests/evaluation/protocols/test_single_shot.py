"""cuhk03: one gallery image of each identity. Examples are worked out by hand in comments."""

import itertools

import numpy as np
import pytest
import torch

from reid_core.errors import ConfigError
from reid_core.evaluation import (
    Embeddings,
    Labels,
    cuhk03,
    evaluate_distances,
    evaluate_retrieval,
    market1501,
)


def labels(pids, camids=None, **columns):
    camids = np.ones(len(pids), dtype=int) if camids is None else np.array(camids)
    return Labels(np.array(pids), camids, {name: np.array(v) for name, v in columns.items()})


QUERY = labels([1], [0])
#: A gallery with its distances, and what the single-gallery-shot figures are.
TABLES = {
    # The match is drawn at .1 (rank 1) or at .9 (rank 2): AP (1 + 1/2) / 2.
    "first": ([1, 1, 2], [0.1, 0.9, 0.5], [0.5, 1.0], 0.75, 0.833333),
    # At .2: rank 1. At .6: id 2 (.4) is before, id 3 with chance 1/2: rank 2 or 3.
    # The first draw gives AP 1, the second the mean of 1/2 and 1/3.
    "second": ([1, 1, 2, 3, 3], [0.2, 0.6, 0.4, 0.3, 0.7], [0.5, 0.75, 1.0], 0.708333, 0.75),
}


@pytest.mark.parametrize("table", TABLES)
def test_case_b046_the_figures_are_the_exact_expectation(table):
    pids, distances, cmc, ap, market = TABLES[table]
    gallery = labels(pids)
    result = evaluate_distances(np.array([distances]), QUERY, gallery, protocol=cuhk03())
    np.testing.assert_allclose(result.cmc[: len(cmc)], cmc, atol=1e-12)
    assert result.cmc[-1] == pytest.approx(1.0)
    assert result.mAP == result.mINP == pytest.approx(ap, abs=1e-6)
    assert result.scalars()["mAP_all_matches"] == pytest.approx(market, abs=1e-6)
    assert "expectation over all draws" in result.protocol_description
    plain = evaluate_distances(np.array([distances]), QUERY, gallery, protocol=market1501())
    assert (plain.rank(1), plain.mAP) == (1.0, pytest.approx(market, abs=1e-6))


@pytest.mark.parametrize("table", TABLES)
def test_case_b046_many_draws_come_near_the_expectation(table):
    pids, distances, cmc, ap, _ = TABLES[table]
    result = evaluate_distances(
        np.array([distances]), QUERY, labels(pids), protocol=cuhk03(draws=4000, seed=3)
    )
    # A share over 4,000 draws has a standard deviation of at most .008.
    np.testing.assert_allclose(result.cmc[: len(cmc)], cmc, atol=0.032)
    assert result.mAP == pytest.approx(ap, abs=0.032)
    assert result.num_trials == 4000
    assert result.deviations["rank1"] == pytest.approx(0.5, abs=0.01)
    assert "4000 draws, seed 3" in result.protocol_description


def test_case_b046_the_same_seed_draws_the_same():
    first, again, other = (
        evaluate_retrieval(*random_sides(), protocol=cuhk03(draws=10, seed=seed))
        for seed in (0, 0, 1)
    )
    assert (first.mAP, first.deviations) == (again.mAP, again.deviations)
    assert first.mAP != other.mAP


def random_sides(num_query=12, num_gallery=40):
    rng = np.random.default_rng(0)
    return tuple(
        Embeddings(
            torch.from_numpy(rng.integers(-2, 3, (size, 2)).astype(np.float32)),
            rng.integers(-1, 5, size),
            rng.integers(0, 2, size),
        )
        for size in (num_query, num_gallery)
    )


def all_draws(distances, pids, own, max_rank):
    """Mean over every draw and every order of ties, counted one by one."""
    groups = [np.flatnonzero(pids == pid) for pid in np.unique(pids)]
    cmc, ap, number = np.zeros(max_rank), 0.0, 0
    for draw in itertools.product(*groups):
        (mine,) = (distances[row] for row in draw if pids[row] == own)
        others = [distances[row] for row in draw if pids[row] != own]
        before = sum(d < mine for d in others)
        tied = sum(d == mine for d in others)
        ranks = range(before + 1, before + tied + 2)
        ap += np.mean([1 / rank for rank in ranks])
        cmc += np.mean([np.arange(1, max_rank + 1) >= rank for rank in ranks], axis=0)
        number += 1
    return cmc / number, ap / number


def test_with_ties_cameras_and_junk_it_equals_counting_every_draw():
    rng = np.random.default_rng(4)
    pids, camids = rng.integers(-1, 5, 18), rng.integers(0, 2, 18)
    distances = rng.integers(0, 4, (9, 18)).astype(np.float64)
    query = labels(rng.integers(0, 5, 9), rng.integers(0, 2, 9))
    result = evaluate_distances(distances, query, labels(pids, camids), protocol=cuhk03())
    cmcs = []
    for row in range(9):
        kept = (pids != -1) & ~((pids == query.pids[row]) & (camids == query.camids[row]))
        if query.pids[row] not in pids[kept]:
            assert np.isnan(result.ap[row])
            continue
        cmc, ap = all_draws(distances[row, kept], pids[kept], query.pids[row], 50)
        assert result.ap[row] == pytest.approx(ap, abs=1e-12)
        assert result.num_candidates[row] == len(np.unique(pids[kept]))
        cmcs.append(cmc)
    assert len(cmcs) > 4
    np.testing.assert_allclose(result.cmc, np.mean(cmcs, axis=0), atol=1e-12)


def test_with_one_image_an_identity_it_is_the_usual_cmc():
    rng = np.random.default_rng(2)
    distances = rng.random((20, 60))
    query, gallery = labels(np.arange(20), np.zeros(20, int)), labels(np.arange(60))
    single = evaluate_distances(distances, query, gallery, protocol=cuhk03())
    usual = evaluate_distances(distances, query, gallery, protocol=market1501())
    np.testing.assert_allclose(single.cmc, usual.cmc, atol=1e-9)
    np.testing.assert_allclose(single.ap, usual.ap, atol=1e-9)


def test_many_sure_identities_before_the_match_are_exact():
    # 300 identities are nearer for certain: rank 301, and with chance 1/2 rank 302.
    pids = [1, *range(2, 302), 302, 302]
    distances = np.array([[0.9] + [0.1] * 300 + [0.5, 1.0]])
    result = evaluate_distances(distances, QUERY, labels(pids), protocol=cuhk03())
    assert result.mAP == pytest.approx((1 / 301 + 1 / 302) / 2, rel=1e-9)
    assert result.cmc[-1] == 0


def test_each_distractor_is_an_identity_of_its_own():
    # Both distractors are nearer, so the match is third; as one identity it would be second.
    gallery = labels([1, 0, 0], distractors=[False, True, True])
    result = evaluate_distances(
        np.array([[0.9, 0.1, 0.2]]),
        labels([1], [0], distractors=[False]),
        gallery,
        protocol=cuhk03(),
    )
    assert result.mAP == pytest.approx(1 / 3)
    assert result.num_candidates.tolist() == [3]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"draws": 0}, r"cuhk03: draws is 0; expected at least 1, or none for the expectation"),
        ({"seed": -1}, r"cuhk03: seed is -1; expected at least 0"),
    ],
)
def test_a_parameter_out_of_range_is_refused(parameters, message):
    with pytest.raises(ConfigError, match=message):
        cuhk03(**parameters)
