"""k-reciprocal re-ranking, beside the published algorithm on full matrices."""

import json
import logging
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch

from reid_core.errors import ConfigError, DataError
from reid_core.evaluation import (
    Embeddings,
    cuhk03,
    describe,
    evaluate_distances,
    evaluate_retrieval,
    market1501,
    no_camera,
    pairwise_distance,
)
from reid_core.evaluation.rerankers import aqe, k_reciprocal, progress, reranked
from reid_core.evaluation.rerankers import jaccard as jaccard_module
from reid_core.evaluation.rerankers import reciprocal as reciprocal_module
from reid_core.evaluation.rerankers.joint import JointDistance
from reid_core.evaluation.rerankers.memory import size
from reid_core.evaluation.rerankers.progress import with_progress

EXPECTED = (
    Path(__file__).resolve().parents[5]
    / "shared/data/fixtures/lpc_reid_osnet_x0_25_msmt17.expected.json"
)


def reranked_points(query, gallery, distance="euclidean", **parameters):
    sides = [torch.tensor(side, dtype=torch.float32) for side in (query, gallery)]
    sides = [side[:, None] if side.ndim == 1 else side for side in sides]
    source = k_reciprocal(**parameters).distances(*sides, distance=distance)
    return source(0, len(sides[0]))


def clustered(num_rows, num_identities, width=16, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((num_identities, width))
    rows = centres[rng.integers(0, num_identities, num_rows)]
    return torch.from_numpy(rows + 0.6 * rng.standard_normal((num_rows, width))).float()


@pytest.mark.parametrize(("k1", "k2", "lambda_value"), [(20, 6, 0.3), (6, 2, 0.5)])
def test_equals_the_golden_distances(golden, k1, k2, lambda_value):
    key = f"rerank/k1={k1}/k2={k2}/lambda={lambda_value}"
    reranker = k_reciprocal(k1=k1, k2=k2, lambda_value=lambda_value)
    query, gallery = torch.from_numpy(golden["q_feat"]), torch.from_numpy(golden["g_feat"])
    kept = gallery[torch.from_numpy(golden["g_pids"] != -1)]
    distances = reranker.distances(query, kept, distance="cosine")(0, len(query))
    np.testing.assert_allclose(distances, golden[key], rtol=0, atol=1e-5)
    result = evaluate_retrieval(
        Embeddings(query, golden["q_pids"], golden["q_cams"]),
        Embeddings(gallery, golden["g_pids"], golden["g_cams"]),
        protocol=market1501(),
        rerankers=[reranker],
    )
    assert result.mAP == pytest.approx(float(golden[f"{key}/mAP"]), abs=1e-4)
    assert result.postprocessing == (reranker.description,)


def test_equals_a_toolbox_on_real_embeddings(shared_fixture, published):
    stored, expected = shared_fixture
    query, gallery = (
        Embeddings(
            torch.from_numpy(stored[f"{side}f"]).float(),
            stored[f"{side}_pids"],
            stored[f"{side}_camids"],
        )
        for side in "qg"
    )
    # The toolbox takes products of the stored values, whose length was rounded, for cosines.
    values = np.concatenate([stored["qf"], stored["gf"]]).astype(np.float64)
    theirs = published(1 - values @ values.T, 240, 20, 6, 0.3)
    result = evaluate_distances(theirs, query.labels, gallery.labels, protocol=market1501())
    _compare(result, theirs, expected, cmc=1e-6)
    unit = values / np.linalg.norm(values, axis=1, keepdims=True)
    source = k_reciprocal().distances(query.features, gallery.features, distance="cosine")
    ours = source(0, 240)
    np.testing.assert_allclose(ours, published(1 - unit @ unit.T, 240, 20, 6, 0.3), atol=2e-6)
    result = evaluate_retrieval(query, gallery, protocol=market1501(), rerankers=[k_reciprocal()])
    # One query of 240 has its match at rank 11 where the lengths are right.
    _compare(result, ours, expected, cmc=1.01 / 240)


def _compare(result, distances, expected, *, cmc):
    assert result.mAP == pytest.approx(expected["mAP"], abs=1e-4)
    ranks = [result.cmc[rank - 1] for rank in (1, 5, 10)]
    assert ranks == pytest.approx(expected["cmc_1_5_10"], abs=cmc)
    assert distances[0, :5] == pytest.approx(expected["dist_first_row_first5"], abs=1e-4)
    assert distances.mean() == pytest.approx(expected["dist_mean"], abs=1e-4)


@pytest.fixture
def shared_fixture(osnet_embeddings):
    figures = json.loads(EXPECTED.read_text(encoding="utf-8"))
    return osnet_embeddings, figures["torchreid_rerank_k1=20_k2=6_l=0.3"]


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        (
            {"k1": 2, "k2": 2},
            [[0.009146, 0.833333, 1, 0.061127], [0.808, 0.004544, 0.038475, 1]],
        ),
        (
            {"k1": 2, "k2": 2, "lambda_value": 1},
            [[0.030486, 0.444444, 1, 0.056689], [0.36, 0.015148, 0.04, 1]],
        ),
        (
            {"k1": 3, "k2": 2},
            [[0.009146, 0.753219, 0.962384, 0.146583], [0.727885, 0.004544, 0.143192, 0.961838]],
        ),
    ],
)
def test_two_queries_on_a_line_b064(parameters, expected):
    distances = reranked_points([0.0, 5.0], [1.1, 4.2, 6.3, -1.5], **parameters)
    np.testing.assert_allclose(distances, expected, atol=1e-5)


def test_the_order_of_points_in_a_plane_changes_b065():
    gallery = [[7, 8], [29, 29], [29, 5], [23, 5], [27, 1], [22, 16]]
    distances = reranked_points([[13, 26]], gallery, k1=3, k2=2)
    expected = [0.506236, 0.356921, 0.818231, 0.758906, 0.863541, 0.458671]
    np.testing.assert_allclose(distances, [expected], atol=1e-5)
    assert np.argsort(distances[0]).tolist() == [1, 5, 0, 3, 2, 4]


def test_more_neighbours_than_rows_are_all_rows_with_a_warning_b066(caplog):
    distances = reranked_points([0.0], [1.0, 1.5, -2.0, 4.0])
    np.testing.assert_allclose(distances, [[0.01875, 0.0421875, 0.075, 0.3]], atol=1e-6)
    (warning,) = [one for one in caplog.records if one.levelno == logging.WARNING]
    assert "k1 is 20, and a row has 4 others; it looks at all of them" in warning.getMessage()


def test_equal_points_are_at_distance_0_b067():
    assert reranked_points([1.0], [1.0, 1.0]).tolist() == [[0, 0]]
    assert np.isfinite(reranked_points(np.ones((3, 4)), np.ones((90, 4)), "cosine")).all()


@pytest.mark.parametrize("seed", range(12))
def test_equals_the_published_algorithm(published, seed, monkeypatch):
    # Small tables, so that rows are worked on in several parts.
    monkeypatch.setattr(reciprocal_module, "TABLE_CELLS", 500)
    monkeypatch.setattr(jaccard_module, "PART_ROWS", 16)
    monkeypatch.setattr(jaccard_module, "MEETINGS", 40)
    rng = np.random.default_rng(seed)
    num_query, num_gallery = rng.integers(1, 25), rng.integers(1, 70)
    k1, k2, lambda_value = int(rng.integers(1, 22)), int(rng.integers(1, 9)), float(rng.random())
    distance = ("cosine", "euclidean")[seed % 2]
    rows = clustered(num_query + num_gallery, 9, seed=seed)
    matrix = pairwise_distance(rows, rows, distance).numpy()
    made = reranked_points(
        rows[:num_query].tolist(),
        rows[num_query:].tolist(),
        distance,
        k1=k1,
        k2=k2,
        lambda_value=lambda_value,
    )
    expected = published(matrix, num_query, k1, k2, lambda_value)
    np.testing.assert_allclose(made, expected, atol=2e-5)


def test_lambda_1_keeps_the_plain_order_and_0_leaves_the_jaccard_distance():
    query, gallery = clustered(9, 5), clustered(60, 5, seed=1)
    plain = pairwise_distance(query, gallery, "cosine").numpy()
    original = k_reciprocal(lambda_value=1).distances(query, gallery, distance="cosine")(0, 9)
    assert np.array_equal(np.argsort(original), np.argsort(plain))
    jaccard = k_reciprocal(lambda_value=0).distances(query, gallery, distance="cosine")(0, 9)
    mixed = k_reciprocal(lambda_value=0.3).distances(query, gallery, distance="cosine")(0, 9)
    np.testing.assert_allclose(mixed, 0.7 * jaccard + 0.3 * original, atol=1e-6)


@pytest.mark.parametrize("num_gallery", [255, 256, 257])
def test_any_size_gives_the_whole_shape_b072(num_gallery):
    query, gallery = clustered(30, 12), clustered(num_gallery, 12, seed=1)
    source = k_reciprocal().distances(query, gallery, distance="cosine")
    whole = source(0, 30)
    assert whole.shape == (30, num_gallery)
    blocks = [source(start, min(start + 16, 30)) for start in range(0, 30, 16)]
    np.testing.assert_allclose(np.concatenate(blocks), whole, atol=1e-6)


@pytest.mark.parametrize(
    ("sizes", "dense"),
    [
        ((11_659, 82_161, 2048), "93820² x 4 B = 35.21 GB"),
        ((3368, 15_913, 2048), "19281² x 4 B = 1.49 GB"),
        ((2000, 20_000, 2048), "22000² x 4 B = 1.94 GB"),
    ],
)
def test_known_sizes_fit_the_default_limit_b068(sizes, dense):
    need = k_reciprocal()._need(*sizes)
    assert need.num_bytes < 2e9
    assert dense in need.line()
    assert "(limit 2 GB)" in need.line()


def test_the_need_is_said_before_anything_is_allocated_b068(caplog):
    query, gallery = torch.zeros(11_659, 1), torch.zeros(82_161, 1)
    with caplog.at_level(logging.INFO), pytest.raises(DataError) as caught:
        k_reciprocal(memory_limit_gb=0.1).distances(query, gallery, distance="cosine")
    assert "93820² x 4 B = 35.21 GB" in caplog.records[0].getMessage()
    message = str(caught.value)
    assert "memory_limit_gb is 0.1; set memory_limit_gb to 0." in message
    assert "35.21 GB" in message


def test_a_small_need_is_said_in_megabytes():
    need = k_reciprocal()._need(10, 40, 4)
    assert "50² x 4 B = 0.01 MB" in need.line()
    assert [size(number) for number in (0, 9_999_999, 10**7)] == ["0.00 MB", "10.00 MB", "0.01 GB"]


def test_need_and_note_are_said_once_an_evaluation_whatever_is_drawn(caplog):
    rows = clustered(60, 30)
    pids = np.arange(60) // 2
    query, gallery = (
        Embeddings(rows[side::2], pids[side::2], np.full(30, side)) for side in (0, 1)
    )
    chain, protocol = [k_reciprocal()], cuhk03(draws=3)
    with caplog.at_level(logging.INFO):
        result = evaluate_retrieval(query, gallery, protocol=protocol, rerankers=chain)
        describe(query, gallery, protocol=protocol, result=result, rerankers=chain)
    assert caplog.text.count("add at most") == 1
    assert caplog.text.count("k_reciprocal: neighbours in") == 1
    assert caplog.text.count("no gain is expected") == 1


def test_a_long_search_says_how_far_it_is(caplog):
    seconds = iter([0.0, 10.0, 31.0, 31.0, 40.0, 61.0, 61.0])
    parts = with_progress(
        lambda start, stop: [torch.full((stop - start, 1), float(start))],
        200_000,
        name="k_reciprocal",
        clock=lambda: next(seconds),
    )
    with caplog.at_level(logging.INFO):
        made = [parts(start, start + 1) for start in (0, 60_000, 80_000, 100_001)]
    assert [float(part[0]) for part in made] == [0, 60_000, 80_000, 100_001]
    assert caplog.messages == [
        "k_reciprocal: neighbours: 30 % of 200,000 rows",
        "k_reciprocal: neighbours: 50 % of 200,000 rows",
    ]


def test_re_ranking_says_how_far_its_search_is(monkeypatch, caplog):
    monkeypatch.setattr(progress, "SECONDS", 0.0)
    query, gallery = clustered(20, 6), clustered(80, 6, seed=1)
    with caplog.at_level(logging.INFO):
        k_reciprocal().distances(query, gallery, distance="cosine")
    assert "k_reciprocal: neighbours: 0 % of 100 rows" in caplog.text


def test_smaller_blocks_keep_a_smaller_limit():
    sizes = (3368, 15_913, 2048)
    wide, narrow = (k_reciprocal(memory_limit_gb=limit)._need(*sizes) for limit in (2, 0.6))
    assert narrow.block_rows < wide.block_rows
    assert narrow.num_bytes <= 0.6e9 < wide.num_bytes


def test_it_adds_less_than_it_says():
    # NumPy's tables, which grow with the set, are traced; those of torch are blocks.
    query, gallery = clustered(300, 60), clustered(2700, 60, seed=1)
    reranker = k_reciprocal()
    tracemalloc.start()
    source = reranker.distances(query, gallery, distance="cosine")
    source(0, 64)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < reranker.needed_bytes(300, 2700, 16)


def test_a_set_is_never_larger_than_said(published):
    rows = clustered(400, 3, width=4)
    for k1 in (1, 2, 5, 11, 20):
        near = reciprocal_module.Neighbours(
            *_sorted_rows(rows, min(k1 + 1, 400)), np.ones(400, np.float32)
        )
        sets = reciprocal_module.weighted_sets(
            near, k1=k1, pairs=lambda one, _: np.ones(len(one), np.float32)
        )
        assert np.diff(sets.starts).max() <= reciprocal_module.most_members(k1)


def _sorted_rows(rows, k):
    matrix = pairwise_distance(rows, rows, "euclidean").numpy()
    order = np.argsort(matrix, axis=1, kind="stable")[:, :k]
    return order.astype(np.int32), np.take_along_axis(matrix, order, axis=1)


def test_a_note_says_that_single_matches_gain_nothing_b070(caplog):
    rows = clustered(40, 40)
    pids = np.arange(20)
    query = Embeddings(rows[:20], pids, np.zeros(20, np.int64))
    gallery = Embeddings(rows[20:], pids, np.ones(20, np.int64))
    with caplog.at_level(logging.INFO):
        result = evaluate_retrieval(query, gallery, protocol=no_camera(), rerankers=[aqe()])
    assert 0 <= result.mAP <= 1
    assert "the queries have 1 match each on average, so no gain is expected" in caplog.text
    caplog.clear()
    twice = Embeddings(rows[20:], pids // 2, np.ones(20, np.int64))
    with caplog.at_level(logging.INFO):
        evaluate_retrieval(query, twice, protocol=no_camera(), rerankers=[aqe()])
    assert "no gain is expected" not in caplog.text


def test_expansion_and_re_ranking_follow_one_another_b071():
    query, gallery = clustered(20, 6), clustered(80, 6, seed=1)
    chain = [aqe(), k_reciprocal()]
    both = reranked(query, gallery, distance="cosine", rerankers=chain)(0, 20)
    expanded = aqe().features(query, gallery, distance="cosine")
    expected = k_reciprocal().distances(*expanded, distance="cosine")(0, 20)
    assert np.array_equal(both, expected)
    assert np.isfinite(both).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"k1": 0}, "k_reciprocal: k1 is 0; expected 1 or more"),
        ({"k2": 0}, "k_reciprocal: k2 is 0; expected 1 or more"),
        ({"lambda_value": 1.5}, r"lambda_value is 1.5; expected 0 \(Jaccard distance alone\) to 1"),
        ({"lambda_value": float("nan")}, "lambda_value is nan"),
        ({"memory_limit_gb": 0.0}, "memory_limit_gb is 0.0; expected gigabytes above 0"),
    ],
)
def test_wrong_parameters_are_refused(parameters, message):
    with pytest.raises(ConfigError, match=message):
        k_reciprocal(**parameters)


@pytest.mark.parametrize("distance", ["cosine", "euclidean"])
@pytest.mark.parametrize("seed", range(20))
def test_copies_among_both_sides_are_ranked_as_published(published, distance, seed):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(4, 4)).astype(np.float32)
    query, gallery = (
        torch.from_numpy(centres[rng.integers(0, 4, size)])
        for size in (int(rng.integers(1, 12)), int(rng.integers(8, 50)))
    )
    rows = torch.cat([query, gallery])
    among = pairwise_distance(rows, rows, distance).numpy()
    for k1, k2 in ((3, 1), (6, 1), (5, 3)):
        found = k_reciprocal(k1=k1, k2=k2).distances(query, gallery, distance=distance)
        expected = published(among, len(query), k1, k2, 0.3)
        np.testing.assert_allclose(found(0, len(query)), expected, atol=1e-4)


@pytest.mark.parametrize("distance", ["cosine", "euclidean"])
def test_copies_on_both_sides_are_equally_far_from_everything(distance):
    rows = clustered(50, 6, width=5) + 3
    first, second = JointDistance(rows[:40], rows, metric=distance).parts(0, 90)
    assert torch.equal(first, second[:, :40])
