import sys

import numpy as np
import pytest
import torch

from reid_core.errors import DataError, UsageError
from reid_core.evaluation.distances import faiss_search
from reid_core.evaluation.distances import nearest as nearest_module
from reid_core.evaluation.distances.distance import pairwise_distance
from reid_core.evaluation.distances.nearest import nearest

BACKENDS = ["exact", "faiss"]
DISTANCES = ["cosine", "euclidean"]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Make several parts of a small gallery."""
    pytest.importorskip("faiss")
    monkeypatch.setattr(nearest_module, "SEARCH_VALUES", 20 * 64)
    monkeypatch.setattr(faiss_search, "GALLERY_VALUES", 16 * 70)


def sides(*, queries=20, gallery=500, dim=16, seed=0):
    rng = np.random.default_rng(seed)
    return (
        torch.from_numpy(rng.standard_normal((size, dim), dtype=np.float32))
        for size in (queries, gallery)
    )


def plainly(query, gallery, k, distance):
    """Sort whole rows of the whole matrix; a stable sort keeps the order of tied rows."""
    everything = pairwise_distance(query, gallery, distance).numpy()
    rows = np.argsort(everything, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(everything, rows, axis=1), rows


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("k", [1, 10, 90, 500])
def test_case_b045_each_backend_finds_what_a_full_sort_finds(backend, distance, k):
    query, gallery = sides()
    found = nearest(query, gallery, k, distance=distance, backend=backend)
    distances, rows = plainly(query, gallery, k, distance)
    assert found.rows.dtype == np.int64
    assert found.distances.dtype == np.float32
    np.testing.assert_array_equal(found.rows, rows)
    np.testing.assert_allclose(found.distances, distances, rtol=0, atol=2e-6)


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_of_equal_distances_the_smaller_row_comes_first_across_parts(backend, distance):
    points, _ = sides(queries=4, dim=16)
    gallery = points[torch.arange(400) % 4]
    found = nearest(points, gallery, 30, distance=distance, backend=backend)
    for row in range(4):
        assert found.rows[row].tolist() == list(range(row, 120, 4))
    assert not found.distances.any()


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_gallery_of_copies_is_answered_in_order(backend):
    query, _ = sides(queries=3)
    found = nearest(query, torch.ones(300, 16), 5, backend=backend)
    assert found.rows.tolist() == [[0, 1, 2, 3, 4]] * 3


def test_faiss_is_not_trusted_where_a_tie_decides():
    query, gallery = sides()
    gallery[100:130] = gallery[0]
    query[0] = gallery[0]
    *_, is_decided = faiss_search.faiss_candidates(query, gallery, 20, distance="cosine")
    assert is_decided.tolist() == [False] + [True] * 19


def test_what_faiss_cannot_decide_is_searched_again(monkeypatch):
    query, gallery = sides()
    asked = []
    exact = nearest_module._exact

    def counting(features, distances_to, k):
        asked.append(features)
        return exact(features, distances_to, k)

    def doubtful(*args, **keywords):
        values, rows, is_decided = faiss_search.faiss_candidates(*args, **keywords)
        is_decided[[3, 8]] = False
        return values, rows.flip(1), is_decided

    monkeypatch.setattr(nearest_module, "_exact", counting)
    monkeypatch.setattr(nearest_module, "faiss_candidates", doubtful)
    found = nearest(query, gallery, 5, backend="faiss")
    assert torch.equal(torch.cat(asked), query[[3, 8]])
    expected = plainly(query, gallery, 5, "cosine")[1][[3, 8]]
    np.testing.assert_array_equal(found.rows[[3, 8]], expected)


def test_faiss_keeps_its_answer_where_nothing_is_tied(monkeypatch):
    query, gallery = sides()
    monkeypatch.setattr(nearest_module, "_exact", None)
    rows = nearest(query, gallery, 5, backend="faiss").rows
    np.testing.assert_array_equal(rows, plainly(query, gallery, 5, "cosine")[1])


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_block_size_changes_nothing(backend, distance):
    query, gallery = sides(queries=70)
    whole = nearest(query, gallery, 7, distance=distance, backend=backend)
    parts = nearest(query, gallery, 7, distance=distance, backend=backend, block_size=9)
    np.testing.assert_array_equal(whole.rows, parts.rows)
    np.testing.assert_allclose(whole.distances, parts.distances, rtol=0, atol=1e-6)


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_half_precision_in_a_memory_map_gives_what_float32_in_memory_gives(
    tmp_path, backend, distance
):
    query, gallery = sides()
    path = tmp_path / "gallery.npy"
    np.save(path, gallery.half().numpy())
    mapped = torch.from_numpy(np.load(path, mmap_mode="c"))
    found = nearest(query, mapped, 8, distance=distance, backend=backend)
    _, rows = plainly(query, gallery.half().float(), 8, distance)
    np.testing.assert_array_equal(found.rows, rows)


@pytest.mark.parametrize("backend", BACKENDS)
def test_no_queries_give_no_rows(backend):
    _, gallery = sides()
    found = nearest(torch.empty(0, 16), gallery, 3, backend=backend)
    assert found.rows.shape == found.distances.shape == (0, 3)


@pytest.mark.parametrize("k", [0, 501])
def test_a_k_that_the_gallery_does_not_have_is_refused(k):
    query, gallery = sides()
    with pytest.raises(UsageError, match=f"k is {k}; expected 1 to 500, the rows of the gallery"):
        nearest(query, gallery, k)


def test_an_unknown_backend_is_refused():
    query, gallery = sides()
    with pytest.raises(UsageError, match=r"backend 'annoy'.*'exact', 'faiss'"):
        nearest(query, gallery, 1, backend="annoy")


@pytest.mark.parametrize("backend", BACKENDS)
def test_features_that_are_not_finite_are_refused(backend):
    query, gallery = sides()
    gallery[7, 0] = float("inf")
    with pytest.raises(DataError, match="gallery embeddings: 1 of 500 rows"):
        nearest(query, gallery, 1, backend=backend)


def test_without_faiss_it_is_said_what_to_type(monkeypatch):
    query, gallery = sides()
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(DataError, match=r"pip install 'reid-core\[faiss\]'"):
        nearest(query, gallery, 1, backend="faiss")
