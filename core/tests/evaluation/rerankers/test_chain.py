"""The order of rerankers, and what they give back."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from reid_core.errors import PluginError, UsageError
from reid_core.evaluation import (
    DistanceReranker,
    Embeddings,
    FeatureReranker,
    evaluate_retrieval,
    market1501,
    pairwise_distance,
)
from reid_core.evaluation.rerankers import aqe, check_chain, dba, k_reciprocal, reranked

ROWS = torch.randn((50, 8), generator=torch.Generator().manual_seed(0))


def test_what_changes_distances_comes_last_and_once():
    check_chain([aqe(), dba(), k_reciprocal()])
    message = "reranker k_reciprocal changes distances, so aqe cannot come after it; put k_recip"
    with pytest.raises(UsageError, match=message):
        check_chain([k_reciprocal(), aqe()])
    with pytest.raises(UsageError, match="and name only one of its kind"):
        reranked(ROWS, ROWS, distance="cosine", rerankers=[k_reciprocal(), k_reciprocal()])


def test_none_is_the_plain_distance():
    source = reranked(ROWS[:9], ROWS[9:], distance="euclidean", rerankers=[])
    expected = pairwise_distance(ROWS[:9], ROWS[9:], "euclidean")
    np.testing.assert_allclose(source(2, 6), expected[2:6], rtol=1e-6)


def test_each_step_sees_what_the_one_before_made():
    query, gallery = ROWS[:9], ROWS[9:]
    made = reranked(query, gallery, distance="cosine", rerankers=[aqe(k=3), dba(k=4)])(0, 9)
    expanded = dba(k=4).features(
        *aqe(k=3).features(query, gallery, distance="cosine"), distance="cosine"
    )
    np.testing.assert_allclose(made, pairwise_distance(*expanded, "cosine"), atol=1e-6)


@pytest.mark.parametrize("reranker", [aqe(k=3), dba(k=3), k_reciprocal(k1=4, k2=2)])
def test_junk_supports_nobody(reranker):
    pids = np.arange(50) % 5
    query = Embeddings(ROWS[:9], pids[:9], np.zeros(9, np.int64))
    clean = Embeddings(ROWS[9:40], pids[9:40], np.ones(31, np.int64))
    with_junk = Embeddings(ROWS[9:], np.append(pids[9:40], [-1] * 10), np.ones(41, np.int64))
    first, second = (
        evaluate_retrieval(query, gallery, protocol=market1501(), rerankers=[reranker])
        for gallery in (clean, with_junk)
    )
    assert first.mAP == second.mAP
    assert np.array_equal(first.ap, second.ap)


@dataclass(frozen=True)
class Given(FeatureReranker):
    """Gives what it is told to give."""

    made: object = None

    def needed_bytes(self, num_query, num_gallery, width):
        return 0

    def features(self, query, gallery, *, distance):
        return self.made


@dataclass(frozen=True)
class GivenBlocks(DistanceReranker):
    """Gives what it is told to give as a block."""

    made: object = None

    def needed_bytes(self, num_query, num_gallery, width):
        return 0

    def distances(self, query, gallery, *, distance):
        return lambda start, stop: self.made


ARRAY = np.ones((3, 41), dtype=np.float32)
NAN = np.where(np.arange(41) == 7, np.nan, ARRAY)
EXPECTED = r"; expected a numpy array \(3, 41\) of float32 or float64"


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (torch.ones(3, 41), r"a torch tensor \(3, 41\) float32 for queries 2 to 5" + EXPECTED),
        (torch.ones(3, 41), r"a torch tensor .* or float64: return its \.numpy\(\)$"),
        (ARRAY[:, :40], r"a numpy array \(3, 40\) float32 for queries 2 to 5" + EXPECTED),
        (ARRAY.astype(np.float16), r"a numpy array \(3, 41\) float16 .*" + EXPECTED),
        (ARRAY.astype(np.int64), r"a numpy array \(3, 41\) int64 .*" + EXPECTED),
        (None, "a NoneType for queries 2 to 5" + EXPECTED),
        (NAN, r"values that are not finite \(NaN or infinite\) for queries 2 to 5"),
        (NAN * -np.inf, "values that are not finite"),
    ],
)
def test_a_block_that_cannot_be_measured_names_the_reranker(made, message):
    reranker = GivenBlocks("mine", "what it is told", made)
    source = reranked(ROWS[:9], ROWS[9:], distance="cosine", rerankers=[reranker])
    with pytest.raises(PluginError, match=r"^reranker mine: distances\(\) gives " + message):
        source(2, 5)


def test_large_distances_whose_sum_overflows_are_finite():
    large = np.full((3, 41), 3e38, dtype=np.float32)
    reranker = GivenBlocks("mine", "what it is told", large)
    source = reranked(ROWS[:9], ROWS[9:], distance="cosine", rerankers=[reranker])
    assert source(0, 3) is large


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (ROWS, "a torch tensor (50, 8) float32; expected a pair"),
        ((ROWS[:9].numpy(), ROWS[9:]), "a numpy array (9, 8) float32 for the queries; expected a "),
        ((ROWS[:9].numpy(), ROWS[9:]), "floating point numbers: torch.from_numpy() makes one"),
        ((ROWS[:9], ROWS), "a torch tensor (50, 8) float32 for the gallery; expected a torch "),
        ((ROWS[:9], ROWS), "expected a torch tensor (41, 8) of floating"),
        ((ROWS[:9, :3], ROWS[9:, :3]), "a torch tensor (9, 3) float32 for the queries"),
        ((ROWS[:9].long(), ROWS[9:]), "a torch tensor (9, 8) int64 for the queries"),
        ((ROWS[:9], ROWS[9:] / 0), "values that are not finite (NaN or infinite) for the gallery"),
    ],
)
def test_features_that_cannot_be_measured_name_the_reranker(made, message):
    reranker = Given("mine", "what it is told", made)
    with pytest.raises(PluginError, match=r"^reranker mine: features\(\) gives ") as caught:
        reranked(ROWS[:9], ROWS[9:], distance="cosine", rerankers=[reranker])
    assert message in str(caught.value)


def test_what_is_no_function_of_blocks_names_the_reranker():
    class Matrix(GivenBlocks):
        def distances(self, query, gallery, *, distance):
            return self.made

    reranker = Matrix("mine", "what it is told", ARRAY)
    with pytest.raises(PluginError, match=r"mine: distances\(\) gives a numpy array \(3, 41\) fl"):
        reranked(ROWS[:9], ROWS[9:], distance="cosine", rerankers=[reranker])
