import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reid_core.errors import DataError, UsageError
from reid_core.evaluation import pairwise_distance
from reid_core.evaluation.distances import distance as distance_module
from reid_core.evaluation.distances.distance import GalleryDistance


def exact(query, gallery, metric):
    """Plain loops in float64."""
    out = torch.empty(len(query), len(gallery), dtype=torch.float64)
    for i, x in enumerate(query.double()):
        for j, y in enumerate(gallery.double()):
            if metric == "cosine":
                norms = float(x.norm() * y.norm())
                out[i, j] = 1 - (float(x @ y) / norms if norms else 0.0)
            else:
                out[i, j] = (x - y).norm()
    return out


def normal(*shape, seed=0, mean=0.0, sd=1.0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)) * sd + mean


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("sizes", [(1, 1), (3, 50), (40, 7), (50, 60)])
def test_equals_plain_float64_loops(metric, sizes):
    query, gallery = normal(sizes[0], 24), normal(sizes[1], 24, seed=1)
    distances = pairwise_distance(query, gallery, metric)
    assert distances.shape == sizes
    assert distances.dtype == torch.float32
    torch.testing.assert_close(
        distances.double(), exact(query, gallery, metric), rtol=1e-5, atol=1e-6
    )


def test_case_b055_the_two_distances_of_unit_vectors_rank_alike():
    query = torch.tensor([[1.0, 0.0]])
    gallery = torch.tensor([[0.5, math.sqrt(0.75)], [0.8, 0.6], [-1.0, 0.0]])
    cosine = pairwise_distance(query, gallery, "cosine")
    euclidean = pairwise_distance(query, gallery, "euclidean")
    assert cosine[0, 0].item() == pytest.approx(0.5, abs=1e-6)
    assert euclidean[0, 0].item() == pytest.approx(1.0, abs=1e-6)
    assert euclidean[0, 0].square().item() == pytest.approx(1.0, abs=1e-6)
    orders = [d.argsort(dim=1).tolist() for d in (cosine, euclidean, euclidean.square())]
    assert orders[0] == orders[1] == orders[2]


def test_euclidean_is_not_squared_and_does_not_normalise():
    distances = pairwise_distance(
        torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]]), "euclidean"
    )
    assert distances.item() == 5.0


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("mean", [0.0, 10.0, 1000.0])
def test_equal_vectors_are_at_distance_zero_exactly(metric, mean):
    features = normal(40, 2048, mean=mean)
    distances = pairwise_distance(features, features, metric)
    assert (distances.diagonal() == 0).all()


def test_case_b056_a_large_common_offset_costs_no_digits():
    features = normal(4, 2048, mean=100.0, sd=3.0)
    other = normal(4, 2048, seed=1, mean=100.0, sd=3.0)
    gallery = torch.cat([features, other])
    distances = pairwise_distance(features, gallery, "euclidean")
    assert torch.isfinite(distances).all()
    assert (distances >= 0).all()
    assert (distances[:, :4].diagonal() == 0).all()
    error = (distances.double() - exact(features, gallery, "euclidean")).abs().max()
    assert error < 1e-6 * features.norm(dim=1).mean()


@pytest.mark.parametrize("gap", [1e-1, 1e-2, 3e-3, 1e-3, 1e-4, 1e-6])
def test_near_duplicates_keep_their_distance(gap):
    query = normal(20, 512)
    gallery = torch.cat([query + gap * normal(20, 512, seed=1), normal(100, 512, seed=2)])
    distances = pairwise_distance(query, gallery, "euclidean").double()
    torch.testing.assert_close(distances, exact(query, gallery, "euclidean"), rtol=2e-3, atol=0.0)


def test_a_zero_vector_is_at_cosine_distance_one_from_everything():
    query = torch.stack([torch.zeros(8), torch.ones(8)])
    gallery = torch.stack([torch.ones(8), torch.zeros(8)])
    assert pairwise_distance(query, gallery, "cosine").tolist() == [[1.0, 1.0], [0.0, 1.0]]


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_cosine_does_not_depend_on_the_length_of_the_vectors(scale):
    query, gallery = normal(10, 64), normal(50, 64, seed=1)
    torch.testing.assert_close(
        pairwise_distance(query * scale, gallery * scale, "cosine"),
        pairwise_distance(query, gallery, "cosine"),
        rtol=0,
        atol=1e-6,
    )


@settings(max_examples=50, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    queries=st.integers(0, 40),
    gallery=st.integers(0, 40),
    dim=st.integers(1, 30),
    metric=st.sampled_from(["cosine", "euclidean"]),
)
def test_small_integers_give_what_float64_gives(seed, queries, gallery, dim, metric):
    rng = np.random.default_rng(seed)
    q, g = (
        torch.from_numpy(rng.integers(-2, 3, (n, dim)).astype(np.float32))
        for n in (queries, gallery)
    )
    distances = pairwise_distance(q, g, metric)
    assert distances.shape == (queries, gallery)
    assert (distances >= 0).all()
    torch.testing.assert_close(distances.double(), exact(q, g, metric), rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_a_row_gets_the_same_distances_in_every_block(metric):
    query, gallery = normal(70, 200), normal(90, 200, seed=1)
    distances_to = GalleryDistance(gallery, metric=metric)
    whole = distances_to(query)
    for size in (1, 7, 33):
        blocks = torch.cat([distances_to(block) for block in query.split(size)])
        assert torch.equal(blocks, whole)


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_features_that_are_not_finite_do_not_look_near(metric):
    query, gallery = normal(2, 8), normal(3, 8, seed=1)
    query[0, 0] = float("nan")
    distances = pairwise_distance(query, gallery, metric)
    assert distances[0].isnan().all()
    assert distances[1].isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_floating_types_are_computed_in_float32(dtype):
    query, gallery = normal(5, 16).to(dtype), normal(6, 16, seed=1).to(dtype)
    distances = pairwise_distance(query, gallery, "cosine")
    assert distances.dtype == torch.float32
    torch.testing.assert_close(
        distances, pairwise_distance(query.float(), gallery.float(), "cosine")
    )


def test_no_gradient_is_kept():
    query = normal(2, 4).requires_grad_()
    assert not pairwise_distance(query, query, "cosine").requires_grad


@pytest.mark.parametrize(
    ("query", "gallery"), [((3, 4), (5, 6)), ((3,), (5, 3)), ((3, 4, 1), (5, 4, 1))]
)
def test_tables_that_do_not_fit_are_refused(query, gallery):
    with pytest.raises(DataError, match="cannot compare query features"):
        pairwise_distance(torch.zeros(query), torch.zeros(gallery), "cosine")


def test_an_unknown_metric_is_refused():
    with pytest.raises(UsageError, match=r"'l1'.*cosine"):
        pairwise_distance(torch.zeros(1, 2), torch.zeros(1, 2), "l1")


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_a_gallery_too_large_to_hold_gives_the_distances_of_one_that_is_held(
    metric, dtype, monkeypatch
):
    query, gallery = normal(40, 64).to(dtype), (3 + normal(203, 64, seed=1)).to(dtype)
    held = GalleryDistance(gallery, metric=metric)(query)
    monkeypatch.setattr(distance_module, "HELD_BYTES", 0)
    monkeypatch.setattr(distance_module, "PIECE_VALUES", 64 * 40)
    torch.testing.assert_close(
        GalleryDistance(gallery, metric=metric)(query), held, rtol=1e-6, atol=1e-6
    )


def test_copies_are_at_distance_zero_in_every_part_of_a_large_gallery(monkeypatch):
    monkeypatch.setattr(distance_module, "HELD_BYTES", 0)
    monkeypatch.setattr(distance_module, "PIECE_VALUES", 64 * 40)
    gallery = 100 + normal(203, 64)
    distances = GalleryDistance(gallery, metric="euclidean")(gallery[150:170])
    assert not distances[range(20), range(150, 170)].any()


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_a_large_gallery_is_never_converted_as_a_whole(metric, monkeypatch):
    monkeypatch.setattr(distance_module, "HELD_BYTES", 0)
    monkeypatch.setattr(distance_module, "PIECE_VALUES", 64 * 40)
    sizes = []
    convert = torch.Tensor.float

    def counting(self):
        sizes.append(len(self))
        return convert(self)

    monkeypatch.setattr(torch.Tensor, "float", counting)
    GalleryDistance(normal(203, 64).half(), metric=metric)(normal(5, 64))
    assert 40 <= max(sizes) < 203


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_part_of_a_gallery_has_the_distances_of_the_whole(metric):
    query, gallery = normal(40, 64), normal(203, 64, seed=1)
    distances_to = GalleryDistance(gallery, metric=metric)
    torch.testing.assert_close(
        distances_to.to_rows(query, 37, 140), distances_to(query)[:, 37:140], rtol=1e-6, atol=1e-6
    )


def test_short_vectors_have_angles_too():
    rng = np.random.default_rng(0)
    rows = torch.from_numpy(rng.standard_normal((6, 16), dtype=np.float32))
    expected = pairwise_distance(rows[:3], rows[3:], "cosine")
    for scale in (1e-12, 1e-20, 1e-30):
        found = pairwise_distance(rows[:3] * scale, rows[3:] * scale, "cosine")
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)
    zero = pairwise_distance(torch.zeros(1, 16), rows[3:], "cosine")
    assert zero.tolist() == [[1.0, 1.0, 1.0]]


def test_near_pairs_are_found_in_pieces(monkeypatch):
    rows = torch.from_numpy(np.random.default_rng(1).standard_normal((40, 8)).astype(np.float32))
    gallery = torch.cat([rows, rows, rows + 1e-4])
    whole = pairwise_distance(rows, gallery, "euclidean")
    sizes = []
    nonzero = torch.nonzero

    def counted(mask):
        sizes.append(mask.numel())
        return nonzero(mask)

    monkeypatch.setattr(distance_module, "NEAR_PAIRS", 300)
    monkeypatch.setattr(torch, "nonzero", counted)
    pieces = pairwise_distance(rows, gallery, "euclidean")
    assert torch.equal(pieces, whole)
    assert len(sizes) == 20
    assert max(sizes) <= 300


def test_one_origin_makes_distances_to_two_tables_agree():
    rng = np.random.default_rng(2)
    rows = torch.from_numpy(rng.standard_normal((50, 7), dtype=np.float32))
    first = GalleryDistance(rows, metric="euclidean")
    second = GalleryDistance(rows[40:], metric="euclidean", origin=first.origin)
    assert torch.equal(second.origin, first.origin)
    assert not torch.equal(GalleryDistance(rows[40:], metric="euclidean").origin, first.origin)
    assert torch.equal(first(rows)[:, 40:], second(rows))
    assert GalleryDistance(rows, metric="cosine").origin is None
