import numpy as np
import pytest
import torch

from reid_core.evaluation import Embeddings, embedding_map


def embeddings(features, pids):
    return Embeddings(torch.as_tensor(features), np.asarray(pids), np.zeros(len(pids), dtype=int))


def plain_components(features):
    """Scores of a singular value decomposition, each axis towards its farthest point."""
    centred = features - features.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    scores = left[:, :2] * sizes[:2]
    for axis in range(2):
        if scores[np.abs(scores[:, axis]).argmax(), axis] < 0:
            scores[:, axis] *= -1
    return scores, float(np.square(sizes[:2]).sum() / np.square(sizes).sum())


@pytest.mark.parametrize("width", [5, 60])
def test_points_are_the_first_two_principal_components(width):
    features = np.random.default_rng(0).normal(size=(20, width))
    shown = embedding_map(
        embeddings(features[:8], range(8)),
        embeddings(features[8:], range(12)),
        distance="euclidean",
    )
    scores, explained = plain_components(features.astype(np.float32).astype(float))
    np.testing.assert_allclose(shown.x, scores[:, 0], atol=1e-5)
    np.testing.assert_allclose(shown.y, scores[:, 1], atol=1e-5)
    assert shown.explained == pytest.approx(explained, abs=1e-6)
    assert shown.sides == ["query"] * 8 + ["gallery"] * 12


def test_under_the_cosine_distance_lengths_do_not_count():
    features = np.random.default_rng(1).normal(size=(10, 4))
    lengths = np.arange(1, 11)[:, None]
    sides = embeddings(features[:4], range(4)), embeddings(features[4:], range(6))
    longer = features * lengths
    other = embeddings(longer[:4], range(4)), embeddings(longer[4:], range(6))
    one, two = embedding_map(*sides), embedding_map(*other)
    np.testing.assert_allclose(one.x, two.x, atol=1e-5)
    assert (
        embedding_map(*sides, distance="euclidean").x
        != embedding_map(*other, distance="euclidean").x
    )


def test_a_sample_is_repeatable_in_order_and_without_junk():
    rng = np.random.default_rng(2)
    query = embeddings(rng.normal(size=(50, 6)), np.arange(50))
    gallery = embeddings(rng.normal(size=(100, 6)), np.where(np.arange(100) % 2, 99, -1))
    shown = embedding_map(query, gallery, num_points=40, names={99: "last"})
    assert shown == embedding_map(query, gallery, num_points=40, names={99: "last"})
    assert shown != embedding_map(query, gallery, num_points=40, names={99: "last"}, seed=1)
    assert len(shown.x) == len(shown.y) == len(shown.pids) == 40
    assert "-1" not in shown.pids
    assert "last" in shown.pids
    of_query = [int(pid) for pid in shown.pids[: shown.sides.count("query")]]
    assert of_query == sorted(of_query)


@pytest.mark.parametrize("width", [1, 3])
def test_collapsed_and_narrow_embeddings_have_a_map_too(width):
    same = embeddings(np.ones((5, width)), range(5))
    shown = embedding_map(same, same)
    assert (set(shown.x), set(shown.y), shown.explained) == ({0.0}, {0.0}, 0.0)
    line = embeddings(np.arange(4.0)[:, None].repeat(width, axis=1), range(4))
    assert embedding_map(line, line, distance="euclidean").explained == pytest.approx(1.0)
