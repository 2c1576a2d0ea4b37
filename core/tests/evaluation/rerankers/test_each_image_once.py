"""Where queries are in the gallery too, re-ranking counts each image once."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from reid_core.errors import UsageError
from reid_core.evaluation import (
    DistanceReranker,
    Embeddings,
    FeatureReranker,
    evaluate_retrieval,
    pairwise_distance,
    searches,
)
from reid_core.evaluation.protocols.leave_one_out import leave_one_out
from reid_core.evaluation.rerankers import aqe, dba, k_reciprocal, knn_smoothing

NOTHING = Embeddings(torch.zeros(0, 16), np.zeros(0, int), np.zeros(0, int))


def people(seed=0, num_rows=120):
    rng = np.random.default_rng(seed)
    pids = np.repeat(np.arange(num_rows // 4), 4)
    centres = rng.standard_normal((num_rows // 4, 16))
    rows = centres[pids] + 0.9 * rng.standard_normal((num_rows, 16))
    return Embeddings(torch.from_numpy(rows).float(), pids, np.zeros(num_rows, int))


def with_distractors(side, count=20):
    """The first rows are of nobody: searched in, and never searched for."""
    flags = np.arange(len(side)) < count
    return Embeddings(side.features, side.pids, side.camids, {"distractors": flags})


def searched(side, rerankers, distance="cosine"):
    made = searches(side, NOTHING, distance=distance, protocol=leave_one_out(), rerankers=rerankers)
    return next(iter(made))


def block_of(search):
    return search.distances(0, len(search.query))


@pytest.mark.parametrize("distance", ["cosine", "euclidean"])
@pytest.mark.parametrize(("k1", "k2"), [(6, 3), (12, 6), (5, 1)])
def test_k_reciprocal_equals_the_published_algorithm_on_the_set_taken_once(
    published_among, distance, k1, k2
):
    side = people()
    among = pairwise_distance(side.features, side.features, distance).numpy()
    expected = published_among(among, k1, k2, 0.3)
    found = block_of(searched(side, [k_reciprocal(k1=k1, k2=k2)], distance))
    np.testing.assert_allclose(found, expected, atol=1e-4)


def plain_neighbours(features, k):
    among = pairwise_distance(features, features, "cosine").numpy()
    return np.argsort(among, axis=1, kind="stable")[:, :k]


@pytest.mark.parametrize("expand", ["both", "query"])
def test_expansion_is_the_mean_of_the_nearest_of_the_set_taken_once(expand):
    side = people(1)
    near = plain_neighbours(side.features, 3)
    means = side.features[torch.from_numpy(near)].mean(dim=1)
    against = means if expand == "both" else side.features
    expected = pairwise_distance(means, against, "cosine")
    found = block_of(searched(side, [aqe(k=3, expand=expand)]))
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_queries_that_are_part_of_the_gallery_take_what_their_entry_became():
    side = with_distractors(people(2))
    reranker = knn_smoothing(k=4)
    _, changed = reranker.features(side.features[:0], side.features, distance="cosine")
    search = searched(side, [reranker])
    assert len(search.query) == 100
    expected = pairwise_distance(changed[20:], changed, "cosine")
    np.testing.assert_allclose(block_of(search), expected, atol=1e-5)


def test_queries_beside_the_gallery_and_in_it_are_told_apart():
    side = people(3)
    query, gallery = side.features[:30], side.features[10:]
    places = torch.cat([torch.full((10,), -1), torch.arange(20)])
    for reranker in (aqe(k=4), knn_smoothing(k=4), aqe(k=4, expand="query")):
        once, changed = reranker.features_once(query, gallery, places, distance="cosine")
        only, expected = reranker.features(query[:10], gallery, distance="cosine")
        torch.testing.assert_close(changed, expected)
        torch.testing.assert_close(once[:10], only)
    once = k_reciprocal(k1=6).distances_once(query, gallery, places, distance="cosine")(0, 30)
    only = k_reciprocal(k1=6).distances(query[:10], gallery, distance="cosine")(0, 10)
    np.testing.assert_array_equal(once[:10], only)


def test_augmentation_leaves_queries_as_they_are():
    side = people(4)
    _, changed = dba(k=3).features(side.features, side.features, distance="cosine")
    expected = pairwise_distance(side.features, changed, "cosine")
    np.testing.assert_array_equal(block_of(searched(side, [dba(k=3)])), expected)


def test_an_image_of_two_forms_is_refused():
    message = "reranker dba changes queries or gallery alone, .* so k_reciprocal cannot count"
    with pytest.raises(UsageError, match=message):
        searched(people(), [dba(k=3), k_reciprocal()])
    searched(people(), [aqe(k=3), k_reciprocal()])


@dataclass(frozen=True)
class Plain(DistanceReranker):
    """Another reranker, which does not know of such sets."""

    def needed_bytes(self, num_query, num_gallery, width):
        return 0

    def distances(self, query, gallery, *, distance):
        return lambda start, stop: pairwise_distance(query[start:stop], gallery, distance).numpy()


@dataclass(frozen=True)
class Centred(FeatureReranker):
    """Another one, to which each image is shown once."""

    def needed_bytes(self, num_query, num_gallery, width):
        return 0

    def features(self, query, gallery, *, distance):
        mean = torch.cat([query, gallery]).mean(dim=0)
        return query - mean, gallery - mean


def test_other_rerankers_are_refused_or_shown_each_image_once():
    with pytest.raises(UsageError, match="reranker plain: queries of this protocol are in the"):
        evaluate_retrieval(
            people(), NOTHING, protocol=leave_one_out(), rerankers=[Plain("plain", "plain")]
        )
    side = with_distractors(people(5))
    centred = side.features - side.features.mean(dim=0)
    found = block_of(searched(side, [Centred("centred", "centred")]))
    expected = pairwise_distance(centred[20:], centred, "cosine")
    np.testing.assert_allclose(found, expected, atol=1e-5)
