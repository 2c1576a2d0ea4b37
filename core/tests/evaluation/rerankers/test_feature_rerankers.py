"""Query expansion, database augmentation and smoothing, beside plain loops."""

import logging

import numpy as np
import pytest
import torch

from reid_core.errors import ConfigError
from reid_core.evaluation.rerankers import (
    alpha_qe,
    aqe,
    averages,
    dba,
    k_reciprocal,
    knn_smoothing,
    reranked,
)


def sides(num_query=7, num_gallery=30, width=6, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((num_query + num_gallery, width)) + 0.4
    rows *= rng.uniform(0.5, 2, (len(rows), 1))
    rows = torch.from_numpy(rows).float()
    return rows[:num_query], rows[num_query:]


def cosine(one, other):
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


def apart(one, other, distance):
    if distance == "cosine":
        return 1 - cosine(one, other)
    return float(np.linalg.norm(one - other))


def mean_of_nearest(row, others, k, alpha, distance):
    """Average the k rows of ``others`` that are nearest, word by word."""
    nearest = sorted(others, key=lambda other: apart(row, other, distance))[:k]
    weights = [max(0, cosine(row, other)) ** alpha for other in nearest]
    total = sum(weight * other for weight, other in zip(weights, nearest, strict=True))
    return total / (k if distance == "cosine" else sum(weights))


def test_alpha_expansion_equals_the_golden_features(golden):
    query, gallery = torch.from_numpy(golden["q_feat"]), torch.from_numpy(golden["g_feat"])
    kept = gallery[torch.from_numpy(golden["g_pids"] != -1)]
    made = alpha_qe(k=5, alpha=3.0).features(query, kept, distance="cosine")
    np.testing.assert_allclose(made[0], golden["aqe/q"], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(made[1], golden["aqe/g"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("distance", ["cosine", "euclidean"])
@pytest.mark.parametrize("alpha", [0.0, 3.0])
def test_expansion_of_both_sides_is_the_mean_of_their_nearest(distance, alpha, monkeypatch):
    monkeypatch.setattr(averages, "GATHERED_VALUES", 100)  # several steps
    query, gallery = sides()
    rows = [*query.double().numpy(), *gallery.double().numpy()]
    expected = [mean_of_nearest(row, rows, 4, alpha, distance) for row in rows]
    reranker = alpha_qe(k=4, alpha=alpha) if alpha else aqe(k=4)
    made = torch.cat(reranker.features(query, gallery, distance=distance))
    np.testing.assert_allclose(made, expected, atol=1e-5)


@pytest.mark.parametrize("distance", ["cosine", "euclidean"])
def test_expansion_of_queries_takes_the_nearest_of_the_gallery(distance):
    query, gallery = sides()
    others = gallery.double().numpy()
    made, same = alpha_qe(k=4, alpha=2, expand="query").features(query, gallery, distance=distance)
    assert same is gallery
    expected = [
        mean_of_nearest(row, [row, *others], 4, 2, distance) for row in query.double().numpy()
    ]
    np.testing.assert_allclose(made, expected, atol=1e-5)


def test_plain_expansion_of_two_vectors_by_hand():
    query, gallery = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 4.0], [3.0, 1.0], [-1.0, 0.0]])
    made, _ = aqe(k=2, expand="query").features(query, gallery, distance="cosine")
    assert made.tolist() == [[2.0, 0.5]]


@pytest.mark.parametrize("distance", ["cosine", "euclidean"])
def test_augmentation_changes_the_gallery_by_itself(distance):
    query, gallery = sides()
    same, made = dba(k=3, alpha=1.0).features(query, gallery, distance=distance)
    assert same is query
    rows = list(gallery.double().numpy())
    expected = [mean_of_nearest(row, rows, 3, 1.0, distance) for row in rows]
    np.testing.assert_allclose(made, expected, atol=1e-5)


@pytest.mark.parametrize("distance", ["cosine", "euclidean"])
@pytest.mark.parametrize("iterations", [1, 3])
def test_smoothing_moves_rows_towards_the_mean_of_their_first_neighbours(distance, iterations):
    query, gallery = sides()
    rows = np.concatenate([query, gallery]).astype(np.float64)
    if distance == "cosine":
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    near = [
        sorted(range(len(rows)), key=lambda other, row=row: apart(row, rows[other], distance))[:4]
        for row in rows
    ]
    for _ in range(iterations):
        rows = 0.7 * rows + 0.3 * np.stack([rows[columns].mean(axis=0) for columns in near])
    reranker = knn_smoothing(k=4, strength=0.3, iterations=iterations)
    made = torch.cat(reranker.features(query, gallery, distance=distance))
    np.testing.assert_allclose(made, rows, atol=1e-5)


@pytest.mark.parametrize("reranker", [aqe(k=1), alpha_qe(k=1), dba(k=1), aqe(k=1, expand="query")])
def test_one_neighbour_is_the_row_itself(reranker):
    query, gallery = sides()
    made = reranker.features(query, gallery, distance="cosine")
    for given, one in zip((query, gallery), made, strict=True):
        np.testing.assert_allclose(one, given, rtol=1e-5)


@pytest.mark.parametrize("distance", ["cosine", "euclidean"])
def test_a_row_without_any_similar_one_stays(distance, caplog):
    # A zero vector is at distance 1 from everything, and similar to nothing.
    query, gallery = torch.zeros(1, 2), torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    made, _ = alpha_qe(k=3).features(query, gallery, distance=distance)
    assert made.tolist() == [[0.0, 0.0]]
    assert not caplog.records


@pytest.mark.parametrize("reranker", [aqe(k=9), dba(k=9), knn_smoothing(k=9), alpha_qe(k=9)])
def test_more_neighbours_than_rows_are_all_of_them_with_a_warning(reranker, caplog):
    with caplog.at_level(logging.WARNING):
        made = reranker.features(*sides(2, 3), distance="cosine")
    assert torch.isfinite(torch.cat(made)).all()
    (record,) = caplog.records
    num_rows = 3 if reranker.name == "dba" else 5
    assert record.getMessage() == (
        f"{reranker.name}: k is 9, and there are {num_rows} rows; it takes all of them"
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: aqe(k=0), "aqe: k is 0; expected 1 or more"),
        (lambda: aqe(expand="gallery"), r"aqe: expand is 'gallery'; expected one of \('both', "),
        (lambda: alpha_qe(alpha=-1.0), "alpha_qe: alpha is -1.0; expected 0 or more"),
        (lambda: dba(k=-1), "dba: k is -1; expected 1 or more"),
        (lambda: dba(alpha=float("inf")), "dba: alpha is inf; expected 0 or more"),
        (lambda: knn_smoothing(k=0), "knn_smoothing: k is 0"),
        (lambda: knn_smoothing(iterations=0), "knn_smoothing: iterations is 0; expected 1 or more"),
        (lambda: knn_smoothing(strength=0), "knn_smoothing: strength is 0; expected the share of"),
    ],
)
def test_wrong_parameters_are_refused(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


@pytest.mark.parametrize(
    ("reranker", "description"),
    [
        (aqe(), "average query expansion of queries and gallery by the 5 nearest"),
        (
            alpha_qe(k=3, expand="query"),
            "alpha query expansion (alpha 3) of queries by the 3 nearest",
        ),
        (dba(alpha=2.0), "database augmentation by the 5 nearest, alpha 2"),
        (knn_smoothing(iterations=2), "smoothing by the 5 nearest (strength 0.5), 2 times"),
    ],
)
def test_what_was_done_stands_beside_the_figures(reranker, description):
    assert reranker.description == description


@pytest.mark.parametrize("reranker", [alpha_qe(k=3), knn_smoothing(k=3), k_reciprocal(k1=4)])
def test_the_length_of_embeddings_does_not_matter_however_short(reranker):
    rng = np.random.default_rng(3)
    query, gallery = (torch.from_numpy(rng.standard_normal((n, 8))).float() for n in (5, 20))
    whole = reranked(query, gallery, distance="cosine", rerankers=[reranker])(0, 5)
    short = reranked(query * 1e-20, gallery * 1e-25, distance="cosine", rerankers=[reranker])
    if reranker.name == "alpha_qe":
        # A mean of long and short ones is another one.
        short = reranked(query * 1e-20, gallery * 1e-20, distance="cosine", rerankers=[reranker])
    np.testing.assert_allclose(short(0, 5), whole, atol=1e-5)
