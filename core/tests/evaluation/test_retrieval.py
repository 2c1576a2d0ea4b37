import json
from pathlib import Path

import numpy as np
import pytest
import torch

from reid_core.errors import DataError, UsageError
from reid_core.evaluation import (
    Embeddings,
    Labels,
    evaluate_distances,
    evaluate_retrieval,
    market1501,
)
from reid_core.evaluation.matches import MatchFinder

EXPECTED = (
    Path(__file__).resolve().parents[4]
    / "shared/data/fixtures/lpc_reid_osnet_x0_25_msmt17.expected.json"
)


def random_sides(*, queries=30, gallery=200, dim=16, seed=0):
    rng = np.random.default_rng(seed)

    def side(size):
        return Embeddings(
            features=torch.from_numpy(rng.standard_normal((size, dim), dtype=np.float32)),
            pids=rng.integers(-1, 8, size),
            camids=rng.integers(0, 3, size),
        )

    return side(queries), side(gallery)


def golden_sides(golden):
    return (
        Embeddings(torch.from_numpy(golden["q_feat"]), golden["q_pids"], golden["q_cams"]),
        Embeddings(torch.from_numpy(golden["g_feat"]), golden["g_pids"], golden["g_cams"]),
    )


def test_equals_the_reference_toolboxes_on_golden_embeddings(golden):
    result = evaluate_retrieval(*golden_sides(golden), protocol=market1501())
    np.testing.assert_allclose(result.cmc, golden["market/cmc"], rtol=0, atol=1e-6)
    np.testing.assert_allclose(result.ap, golden["market/ap"], rtol=0, atol=1e-6)
    np.testing.assert_allclose(result.inp, golden["market/inp"], rtol=0, atol=1e-6)
    assert result.mAP == pytest.approx(float(golden["market/mAP"]), abs=1e-6)
    assert result.mINP == pytest.approx(float(golden["market/mINP"]), abs=1e-6)


def test_equals_the_reference_toolboxes_on_golden_distances(golden):
    query, gallery = golden_sides(golden)
    result = evaluate_distances(
        golden["cosine_dist"], query.labels, gallery.labels, protocol=market1501()
    )
    np.testing.assert_allclose(result.cmc, golden["market/cmc"], rtol=0, atol=1e-6)
    np.testing.assert_allclose(result.ap, golden["market/ap"], rtol=0, atol=1e-6)
    np.testing.assert_allclose(result.inp, golden["market/inp"], rtol=0, atol=1e-6)


def test_equals_the_reference_toolboxes_on_real_embeddings(osnet_embeddings):
    data = osnet_embeddings
    expected = json.loads(EXPECTED.read_text())
    # The reference took the stored vectors, whose norms float16 rounded, as they are.
    distances = 1 - data["qf"].astype(np.float64) @ data["gf"].astype(np.float64).T
    result = evaluate_distances(
        distances,
        Labels(data["q_pids"], data["q_camids"]),
        Labels(data["g_pids"], data["g_camids"]),
        protocol=market1501(),
    )
    assert result.mAP == pytest.approx(expected["fastreid"]["mAP"], abs=1e-6)
    assert result.mAP == pytest.approx(expected["torchreid"]["mAP"], abs=1e-6)
    assert result.mINP == pytest.approx(expected["fastreid"]["mINP"], abs=1e-6)
    ranks = [result.rank(k) for k in (1, 5, 10)]
    assert ranks == pytest.approx(expected["fastreid"]["cmc_1_5_10"], abs=1e-6)
    assert ranks == pytest.approx(expected["torchreid"]["cmc_1_5_10"], abs=1e-6)


def test_float32_cosine_ranks_real_embeddings_as_float64_does(osnet_embeddings, plain):
    data = osnet_embeddings
    query, gallery = (
        Embeddings(torch.from_numpy(data[f"{s}f"]), data[f"{s}_pids"], data[f"{s}_camids"])
        for s in "qg"
    )
    result = evaluate_retrieval(query, gallery, protocol=market1501())
    unit = [
        side.features.double() / side.features.double().norm(dim=1)[:, None]
        for side in (query, gallery)
    ]
    reference = plain((1 - unit[0] @ unit[1].T).numpy(), query.labels, gallery.labels)
    np.testing.assert_allclose(result.ap, reference.ap, atol=1e-12)
    np.testing.assert_allclose(result.inp, reference.inp, atol=1e-12)
    np.testing.assert_allclose(result.cmc, reference.cmc, atol=1e-12)


def test_case_b041_a_query_without_a_valid_match_is_skipped_and_counted():
    distances = np.array(
        [[0.1, 0.2, 0.3, 0.4, 0.5], [0.5, 0.1, 0.4, 0.2, 0.3], [0.3, 0.2, 0.1, 0.5, 0.4]]
    )
    result = evaluate_distances(
        distances,
        Labels(np.array([1, 2, 3]), np.array([1, 2, 1])),
        Labels(np.array([1, 2, 1, 2, 3]), np.array([2, 1, 3, 3, 1])),
        protocol=market1501(),
    )
    assert (result.num_queries, result.num_valid_queries, result.num_skipped) == (3, 2, 1)
    assert result.rank(1) == 1.0
    assert result.mAP == pytest.approx(0.916667, abs=1e-6)
    assert result.mINP == pytest.approx(0.833333, abs=1e-6)
    assert np.isnan(result.ap).tolist() == [False, False, True]
    assert np.isnan(result.inp).tolist() == [False, False, True]
    assert "1 skipped" in result.summary()


def test_case_b042_the_cmc_goes_on_beyond_a_small_gallery():
    result = evaluate_distances(
        np.array([[0.1, 0.3, 0.2], [0.5, 0.1, 0.2]]),
        Labels(np.array([1, 2]), np.array([1, 1])),
        Labels(np.array([1, 1, 2]), np.array([1, 2, 2])),
        protocol=market1501(),
        max_rank=50,
    )
    assert [result.rank(k) for k in (1, 2, 3, 5, 50)] == [0.0, 1.0, 1.0, 1.0, 1.0]
    assert result.mAP == pytest.approx(0.5, abs=1e-6)
    assert result.mINP == pytest.approx(0.5, abs=1e-6)
    assert result.cmc.shape == (50,)


@pytest.mark.parametrize(
    ("match_ranks", "ap"), [((2, 4), 0.5), ((1, 3), 0.833333), ((3, 5), 0.366667)]
)
def test_case_b043_ap_is_the_mean_of_precision_and_not_a_trapezoid(match_ranks, ap):
    pids = np.zeros(max(match_ranks), dtype=np.int64)
    pids[np.array(match_ranks) - 1] = 1
    result = evaluate_distances(
        np.arange(1.0, len(pids) + 1)[None],
        Labels(np.array([1]), np.array([0])),
        Labels(pids, np.ones(len(pids), dtype=np.int64)),
        protocol=market1501(),
    )
    assert result.mAP == pytest.approx(ap, abs=1e-6)


@pytest.mark.parametrize("distance", ["cosine", "euclidean"])
def test_the_block_size_changes_nothing_at_all(distance):
    query, gallery = random_sides()
    results = [
        evaluate_retrieval(
            query, gallery, distance=distance, protocol=market1501(), block_size=block_size
        )
        for block_size in (1, 7, 10**9, None)
    ]
    for result in results[1:]:
        np.testing.assert_array_equal(result.ap, results[0].ap)
        np.testing.assert_array_equal(result.inp, results[0].inp)
        np.testing.assert_array_equal(result.cmc, results[0].cmc)
        np.testing.assert_array_equal(result.num_candidates, results[0].num_candidates)


def test_no_block_is_larger_than_asked_for(monkeypatch):
    query, gallery = random_sides()
    sizes = []
    rank = MatchFinder.rank

    def counting(self, distances, labels):
        sizes.append(distances.shape)
        return rank(self, distances, labels)

    monkeypatch.setattr(MatchFinder, "rank", counting)
    evaluate_retrieval(query, gallery, protocol=market1501(), block_size=7)
    assert sizes == [(7, 200)] * 4 + [(2, 200)]


@pytest.mark.parametrize("distance", ["cosine", "euclidean"])
def test_embeddings_in_equal_plain_loops_over_float64_distances(distance, plain):
    query, gallery = random_sides(seed=3)
    q, g = query.features.double(), gallery.features.double()
    if distance == "cosine":
        q, g = q / q.norm(dim=1, keepdim=True), g / g.norm(dim=1, keepdim=True)
        distances = 1 - q @ g.T
    else:
        distances = (q[:, None] - g).norm(dim=2)
    result = evaluate_retrieval(query, gallery, distance=distance, protocol=market1501())
    reference = plain(distances.numpy(), query.labels, gallery.labels)
    np.testing.assert_allclose(result.ap, reference.ap, atol=1e-12)
    np.testing.assert_allclose(result.inp, reference.inp, atol=1e-12)
    np.testing.assert_allclose(result.cmc, reference.cmc, atol=1e-12)


def test_the_result_names_the_protocol_the_distance_and_the_counts():
    query, gallery = random_sides()
    result = evaluate_retrieval(query, gallery, distance="euclidean", protocol=market1501())
    assert result.protocol == "market1501"
    assert result.protocol_description == market1501().description
    assert result.distance == "euclidean"
    assert (result.num_queries, result.num_gallery) == (30, 200)
    junk = int((gallery.labels.pids == -1).sum())
    own_camera = (query.labels.pids[:, None] == gallery.labels.pids) & (
        query.labels.camids[:, None] == gallery.labels.camids
    )
    is_real = query.labels.pids != -1
    expected = 200 - junk - own_camera.sum(axis=1)
    assert result.num_candidates[is_real].tolist() == expected[is_real].tolist()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("side", ["query", "gallery"])
def test_case_b057_one_value_that_is_not_finite_stops_with_side_count_and_row(value, side):
    query, gallery = random_sides()
    {"query": query, "gallery": gallery}[side].features[5, 3] = value
    with pytest.raises(DataError, match=rf"{side} embeddings: 1 of \d+ rows .* row 5;"):
        evaluate_retrieval(query, gallery, protocol=market1501())


def test_all_values_not_finite_are_counted():
    query, gallery = random_sides()
    gallery.features.fill_(float("nan"))
    with pytest.raises(DataError, match=r"200 of 200 rows .*3200 values"):
        evaluate_retrieval(query, gallery, protocol=market1501())


def test_distances_that_are_not_finite_stop_the_evaluation():
    labels = Labels(np.array([1, 1]), np.array([0, 1]))
    distances = np.array([[0.0, np.nan], [0.1, 0.2]], dtype=np.float32)
    with pytest.raises(DataError, match="1 of 4 distances are not finite"):
        evaluate_distances(distances, labels, labels, protocol=market1501())


def test_finite_distances_whose_sum_overflows_are_accepted():
    labels = Labels(np.array([1, 1]), np.array([0, 1]))
    distances = np.full((2, 2), 3e38, dtype=np.float32)
    assert evaluate_distances(distances, labels, labels, protocol=market1501()).mAP == 1.0


def test_features_of_different_width_are_refused_with_both_shapes():
    query, _ = random_sides(dim=16)
    _, gallery = random_sides(dim=8)
    with pytest.raises(DataError, match=r"\(30, 16\).*\(200, 8\).*same model"):
        evaluate_retrieval(query, gallery, protocol=market1501())


def test_a_distance_matrix_of_another_shape_is_refused():
    query, gallery = random_sides()
    with pytest.raises(DataError, match=r"\(200, 30\); expected \(30, 200\)"):
        evaluate_distances(
            np.zeros((200, 30), dtype=np.float32),
            query.labels,
            gallery.labels,
            protocol=market1501(),
        )


def test_an_unknown_distance_is_refused_with_the_known_ones():
    query, gallery = random_sides()
    with pytest.raises(UsageError, match=r"'manhattan'.*cosine.*euclidean"):
        evaluate_retrieval(query, gallery, distance="manhattan", protocol=market1501())


def test_a_max_rank_without_the_named_ranks_is_refused():
    query, gallery = random_sides()
    with pytest.raises(UsageError, match="max_rank is 5; expected at least 10"):
        evaluate_retrieval(query, gallery, protocol=market1501(), max_rank=5)


def test_a_block_size_of_zero_is_refused():
    query, gallery = random_sides()
    with pytest.raises(UsageError, match="block_size is 0"):
        evaluate_retrieval(query, gallery, protocol=market1501(), block_size=0)


def test_no_query_with_a_match_is_an_error_that_counts_the_reasons():
    features = torch.eye(3)
    query = Embeddings(features, np.array([1, 2, 9]), np.array([0, 0, 0]))
    gallery = Embeddings(features, np.array([1, 2, 3]), np.array([0, 0, 0]))
    with pytest.raises(DataError) as caught:
        evaluate_retrieval(query, gallery, protocol=market1501())
    message = str(caught.value)
    assert "0 of 3 queries have a valid match" in message
    assert "1 have an identity that is not in the gallery" in message
    assert "2 have only matches that protocol market1501 leaves out" in message
    assert "camids" in message


def test_an_empty_query_set_is_an_error():
    _, gallery = random_sides()
    query = Embeddings(torch.zeros(0, 16), np.zeros(0, np.int64), np.zeros(0, np.int64))
    with pytest.raises(DataError, match="0 of 0 queries"):
        evaluate_retrieval(query, gallery, protocol=market1501())


def test_an_empty_gallery_is_an_error():
    query, _ = random_sides()
    gallery = Embeddings(torch.zeros(0, 16), np.zeros(0, np.int64), np.zeros(0, np.int64))
    with pytest.raises(DataError, match="30 have an identity that is not in the gallery"):
        evaluate_retrieval(query, gallery, protocol=market1501())


def test_inputs_are_left_as_they_were():
    query, gallery = random_sides()
    copies = [side.features.clone() for side in (query, gallery)]
    distances = np.random.default_rng(0).random((30, 200), dtype=np.float32)
    before = distances.copy()
    evaluate_retrieval(query, gallery, distance="euclidean", protocol=market1501())
    evaluate_retrieval(query, gallery, protocol=market1501())
    evaluate_distances(distances, query.labels, gallery.labels, protocol=market1501())
    assert torch.equal(query.features, copies[0])
    assert torch.equal(gallery.features, copies[1])
    np.testing.assert_array_equal(distances, before)


def test_features_whose_squares_vanish_are_refused_under_euclidean():
    rng = np.random.default_rng(0)
    query, gallery = (
        Embeddings(torch.from_numpy(rng.standard_normal((6, 4)) * 1e-20).float(), ids, ids * 0 + c)
        for c, ids in enumerate((np.arange(6), np.arange(6)))
    )
    with pytest.raises(DataError, match=r"largest value is .*e-20, whose square is 0 in float32"):
        evaluate_retrieval(query, gallery, distance="euclidean", protocol=market1501())
    assert evaluate_retrieval(query, gallery, protocol=market1501()).mAP < 1
