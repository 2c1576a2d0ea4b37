from dataclasses import replace

import numpy as np
import pytest
import torch

from reid_core.errors import DataError, UsageError
from reid_core.evaluation import (
    Embeddings,
    market1501,
    pairwise_distance,
    searches,
    top_matches,
)
from reid_core.evaluation.protocols.leave_one_out import leave_one_out
from reid_core.evaluation.protocols.multi_query import multi_query
from reid_core.evaluation.ranking import top_matches_of
from reid_core.evaluation.search import ROWS


def sides(seed=0, gallery=100):
    rng = np.random.default_rng(seed)

    def side(size):
        return Embeddings(
            torch.from_numpy(rng.standard_normal((size, 8), dtype=np.float32)),
            rng.integers(-1, 6, size),
            rng.integers(0, 3, size),
        )

    return side(20), side(gallery)


@pytest.mark.parametrize("distance", ["cosine", "euclidean"])
def test_the_nearest_entries_that_count_come_first(distance):
    query, gallery = sides()
    rows = [3, 0, 19]
    top = top_matches(query, gallery, distance=distance, protocol=market1501(), k=7, rows=rows)
    everything = pairwise_distance(query.features, gallery.features, distance).numpy()
    excluded = market1501().excluded(query.labels, gallery.labels)
    assert top.query_rows.tolist() == rows
    for place, row in enumerate(rows):
        kept = [g for g in range(100) if not excluded[row, g]]
        expected = sorted(kept, key=lambda g: everything[row, g])[:7]
        assert top.gallery_rows[place].tolist() == expected
        np.testing.assert_allclose(top.distances[place], everything[row, expected], rtol=1e-6)
        matches = (gallery.labels.pids[expected] == query.labels.pids[row]).tolist()
        assert top.is_match[place].tolist() == matches


def test_a_short_gallery_leaves_the_rest_of_the_row_empty():
    query = Embeddings(torch.ones(1, 2), np.array([1]), np.array([0]))
    gallery = Embeddings(torch.eye(2), np.array([1, 1]), np.array([0, 1]))
    top = top_matches(query, gallery, protocol=market1501(), k=3, rows=[0])
    assert top.gallery_rows.tolist() == [[1, -1, -1]]
    assert np.isnan(top.distances).tolist() == [[False, True, True]]
    assert top.is_match.tolist() == [[True, False, False]]


def test_equal_distances_come_in_the_order_of_the_gallery():
    query = Embeddings(torch.tensor([[1.0, 0.0]]), np.array([1]), np.array([0]))
    is_near = np.arange(300) % 3 == 1
    features = torch.eye(2)[np.where(is_near, 0, 1)]
    gallery = Embeddings(features, np.arange(300), np.ones(300, dtype=np.int64))
    top = top_matches(query, gallery, protocol=market1501(), k=250, rows=[0])
    expected = [*np.flatnonzero(is_near), *np.flatnonzero(~is_near)][:250]
    assert top.gallery_rows[0].tolist() == expected


def test_a_query_without_a_match_is_ranked_like_any_other():
    query = Embeddings(torch.ones(1, 2), np.array([7]), np.array([0]))
    gallery = Embeddings(torch.eye(2), np.array([1, 2]), np.array([0, 1]))
    top = top_matches(query, gallery, protocol=market1501(), k=2, rows=[0])
    assert not top.is_match.any()
    assert sorted(top.gallery_rows[0].tolist()) == [0, 1]


def test_rows_may_be_chosen_none_at_all():
    query, gallery = sides()
    top = top_matches(query, gallery, protocol=market1501(), k=4, rows=[])
    assert top.gallery_rows.shape == (0, 4)


@pytest.mark.parametrize("row", [-1, 20])
def test_a_row_outside_of_the_query_set_is_refused(row):
    query, gallery = sides()
    with pytest.raises(UsageError, match=rf"query row {row} does not exist; expected 0 to 19"):
        top_matches(query, gallery, protocol=market1501(), rows=[0, row])


def test_k_below_one_is_refused():
    query, gallery = sides()
    with pytest.raises(UsageError, match="k is 0"):
        top_matches(query, gallery, protocol=market1501(), k=0, rows=[0])


def test_features_that_are_not_finite_are_refused():
    query, gallery = sides()
    gallery.features[2, 0] = float("nan")
    with pytest.raises(DataError, match="gallery embeddings: 1 of 100 rows"):
        top_matches(query, gallery, protocol=market1501(), rows=[0])


@pytest.mark.parametrize("distance", ["cosine", "euclidean"])
@pytest.mark.parametrize("k", [1, 7, 60, 300])
def test_faiss_is_asked_for_more_until_enough_entries_count(distance, k):
    pytest.importorskip("faiss")
    query, gallery = sides(gallery=250)
    # Far more is left out for the first queries than FAISS is first asked for.
    gallery.pids[:100], gallery.camids[:100] = -1, 0
    gallery.features[:100] = query.features[0] + 0.01 * gallery.features[:100]
    exact, other = (
        top_matches(
            query,
            gallery,
            distance=distance,
            protocol=market1501(),
            k=k,
            rows=[0, 5, 1, 19],
            backend=backend,
        )
        for backend in ("exact", "faiss")
    )
    np.testing.assert_array_equal(other.gallery_rows, exact.gallery_rows)
    np.testing.assert_array_equal(other.is_match, exact.is_match)
    np.testing.assert_allclose(other.distances, exact.distances, rtol=0, atol=2e-6)


def test_an_unknown_backend_is_refused():
    query, gallery = sides()
    with pytest.raises(UsageError, match="backend 'annoy' is not known"):
        top_matches(query, gallery, protocol=market1501(), rows=[0], backend="annoy")


@pytest.mark.parametrize("rows", [[3, 4, 5, 0, 19, 18], range(20), []])
def test_a_search_gives_the_ranked_galleries_of_its_embeddings(rows):
    query, gallery = sides()
    [search] = searches(query, gallery, distance="cosine", protocol=market1501())
    found = top_matches_of(search, k=7, rows=rows)
    expected = top_matches(query, gallery, protocol=market1501(), k=7, rows=rows)
    assert found.query_rows.tolist() == list(rows)
    np.testing.assert_array_equal(found.gallery_rows, expected.gallery_rows)
    np.testing.assert_array_equal(found.is_match, expected.is_match)
    np.testing.assert_allclose(found.distances, expected.distances, rtol=0, atol=1e-6)
    in_test_set = search.gallery.columns[ROWS][found.gallery_rows]
    np.testing.assert_array_equal(in_test_set, found.gallery_rows + 20)


def test_a_search_computes_neighbouring_rows_together():
    query, gallery = sides()
    [search] = searches(query, gallery, distance="cosine", protocol=market1501())
    asked = []

    def distances(start, stop):
        asked.append((start, stop))
        return search.distances(start, stop)

    top_matches_of(replace(search, distances=distances), rows=[7, 8, 9, 2, 3, 3])
    assert asked == [(7, 10), (2, 4), (3, 4)]


@pytest.mark.parametrize(
    ("protocol", "message"),
    [
        (leave_one_out(), "protocol leave_one_out cuts the set, so the rows"),
        (multi_query(), "protocol multi_query prepares what is compared, so the rows"),
    ],
)
def test_a_protocol_that_changes_the_rows_is_refused(protocol, message):
    query, gallery = sides()
    with pytest.raises(UsageError, match=message + r".* ask top_matches_of\(search\)"):
        top_matches(query, gallery, protocol=protocol, k=3, rows=[0])
