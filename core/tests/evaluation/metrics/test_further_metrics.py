import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reid_core.evaluation import Labels, evaluate_distances, market1501
from reid_core.evaluation.matches import MatchFinder, MatchRanks
from reid_core.evaluation.metrics.further_metrics import is_mostly_tied
from reid_core.evaluation.metrics.query_figures import MATCH_RANKS, QueryFigures, figures_of
from reid_core.evaluation.metrics.rank_metrics import group_ties


def measure(distances, is_match) -> QueryFigures:
    """Figures of one query; distances and matches of its gallery."""
    gallery = Labels(np.where(is_match, 1, 2), np.ones(len(is_match), dtype=int))
    finder = MatchFinder(gallery, protocol=market1501())
    query = Labels(np.array([1]), np.array([0]))
    return figures_of([finder.rank(np.array([distances], dtype=np.float32), query)])


def trapezoid(ranked):
    """Market-1501's own ``compute_ap``, word by word."""
    number = sum(ranked)
    ap, old_recall, old_precision, found = 0.0, 0.0, 1.0, 0
    for place, is_match in enumerate(ranked):
        found += is_match
        recall, precision = found / number, found / (place + 1)
        ap += (recall - old_recall) * (old_precision + precision) / 2
        old_recall, old_precision = recall, precision
    return ap


def in_plain_words(ranked):
    """The further figures of one ranked list."""
    number = sum(ranked)
    figures = {
        "mAP_trapezoid": trapezoid(ranked),
        "r_precision": sum(ranked[:number]) / number,
    }
    for k in MATCH_RANKS:
        figures[f"match_recall@{k}"] = sum(ranked[:k]) / number
    for k in (1, 2, 4, 8):
        figures[f"recall@{k}"] = float(any(ranked[:k]))
    figures["rank5"] = float(any(ranked[:5]))
    return figures


def mean_over_all_orders(distances, is_match):
    entries = list(zip(distances, is_match, strict=True))
    orders = [
        # sorted() is stable: what is tied stays as permuted.
        in_plain_words([hit for _, hit in sorted(order, key=lambda entry: entry[0])])
        for order in itertools.permutations(entries)
    ]
    return {name: np.mean([one[name] for one in orders]) for name in orders[0]}


@pytest.mark.parametrize(
    ("hits", "plain", "by_trapezoid"),
    [
        ((2, 4), 0.5, 0.333333),
        ((1, 3), 0.833333, 0.791667),
        ((3, 5), 0.366667, 0.245833),
    ],
)
def test_case_b043_both_average_precisions_have_their_own_name(hits, plain, by_trapezoid):
    is_match = [rank in hits for rank in range(1, max(4, *hits) + 1)]
    values = measure(np.arange(len(is_match)), is_match).values
    assert values["mAP"][0] == pytest.approx(plain, abs=1e-6)
    assert values["mAP_trapezoid"][0] == pytest.approx(by_trapezoid, abs=1e-6)


def test_further_figures_of_a_hand_made_list():
    # Matches at ranks 1, 4 and 5 of 6.
    values = measure(range(6), [True, False, False, True, True, False]).values
    assert values["r_precision"][0] == pytest.approx(1 / 3)
    assert values["match_recall@1"][0] == pytest.approx(1 / 3)
    assert values["match_recall@5"][0] == 1.0
    assert values["recall@1"][0] == values["rank1"][0] == 1.0
    assert values["chance_rank1"][0] == 0.5


@st.composite
def tied_lists(draw):
    size = draw(st.integers(1, 6))
    distances = draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
    is_match = draw(st.lists(st.booleans(), min_size=size, max_size=size).filter(any))
    return distances, is_match


@settings(max_examples=60, deadline=None)
@given(problem=tied_lists())
def test_figures_of_tied_entries_are_means_over_all_orders(problem):
    values = measure(*problem).values
    for name, expected in mean_over_all_orders(*problem).items():
        assert values[name][0] == pytest.approx(expected, abs=1e-12), name


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 200))
def test_long_lists_without_ties_equal_plain_loops(seed, size):
    rng = np.random.default_rng(seed)
    is_match = rng.random(size) < 0.2
    is_match[rng.integers(size)] = True
    values = measure(np.arange(size), is_match).values
    for name, expected in in_plain_words(is_match.tolist()).items():
        assert values[name][0] == pytest.approx(expected, abs=1e-12), name


@pytest.mark.parametrize(("size", "number"), [(1, 1), (4, 1), (5, 2), (6, 4)])
def test_the_chance_level_is_the_mean_over_all_orders(size, number):
    is_match = [place < number for place in range(size)]
    orders = list(itertools.permutations(is_match))
    precisions = [
        np.mean([sum(order[: at + 1]) / (at + 1) for at in range(size) if order[at]])
        for order in orders
    ]
    values = measure(np.arange(size), is_match).values
    assert values["chance_mAP"][0] == pytest.approx(np.mean(precisions), abs=1e-12)
    assert values["chance_rank1"][0] == pytest.approx(np.mean([order[0] for order in orders]))


def test_queries_without_a_match_have_no_figure():
    gallery = Labels(np.array([1, 2]), np.array([1, 1]))
    finder = MatchFinder(gallery, protocol=market1501())
    query = Labels(np.array([9, 1]), np.array([0, 0]))
    figures = figures_of([finder.rank(np.array([[0.1, 0.2], [0.3, 0.2]]), query)])
    for name, column in figures.values.items():
        assert np.isnan(column[0]), name
        assert not np.isnan(column[1]), name
    assert figures.means()["mAP"] == 0.5


def test_a_query_is_mostly_tied_when_over_half_of_its_gallery_ties_with_a_match():
    gallery = Labels(np.array([1, 2, 2, 2]), np.ones(4, dtype=int))
    finder = MatchFinder(gallery, protocol=market1501())
    query = Labels(np.array([1, 1, 1]), np.zeros(3, dtype=int))
    distances = np.array([[0.1, 0.1, 0.1, 0.2], [0.1, 0.1, 0.2, 0.3], [0.1, 0.2, 0.2, 0.2]])
    ranks = finder.rank(distances, query)
    tied = is_mostly_tied(group_ties(ranks), ranks.num_candidates)
    assert tied.tolist() == [True, False, False]


# Cases B041, B042 and B061: the figures of small tables.
def test_case_b041_the_skipped_query_is_not_averaged_in():
    result = evaluate_distances(
        np.array([[0.1, 0.2, 0.3, 0.4, 0.5], [0.5, 0.1, 0.4, 0.2, 0.3], [0.3, 0.2, 0.1, 0.5, 0.4]]),
        Labels(np.array([1, 2, 3]), np.array([1, 2, 1])),
        Labels(np.array([1, 2, 1, 2, 3]), np.array([2, 1, 3, 3, 1])),
        protocol=market1501(),
    )
    assert (result.num_valid_queries, result.num_skipped) == (2, 1)
    assert result.rank(1) == 1.0
    assert result.mAP == pytest.approx(0.916667, abs=1e-6)
    assert result.mINP == pytest.approx(0.833333, abs=1e-6)
    assert "2 of 3 queries valid, 1 skipped" in result.summary()


def test_case_b042_the_cmc_keeps_its_last_value_beyond_a_small_gallery():
    result = evaluate_distances(
        np.array([[0.1, 0.3, 0.2], [0.5, 0.1, 0.2]]),
        Labels(np.array([1, 2]), np.array([1, 1])),
        Labels(np.array([1, 1, 2]), np.array([1, 2, 2])),
        protocol=market1501(),
        max_rank=60,
    )
    assert [result.rank(k) for k in (1, 2, 3, 5, 50, 60)] == [0, 1, 1, 1, 1, 1]
    assert (result.mAP, result.mINP) == (0.5, 0.5)


def test_case_b061_three_queries_with_ap_1_0_0_have_a_mean_of_a_third():
    # A match that stands behind so many others that its precision is 0 to six digits.
    far = 2_000_000
    ranks = np.array([1, far, far])
    figures = figures_of(
        [
            MatchRanks(
                query=np.arange(3),
                before=ranks - 1,
                tied=np.ones(3, dtype=int),
                num_matches=np.ones(3, dtype=int),
                num_candidates=np.full(3, far),
            )
        ]
    )
    assert figures.means()["mAP"] == pytest.approx(0.333333, abs=1e-6)
