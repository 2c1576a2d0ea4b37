import numpy as np
import pytest
import torch

from reid_core.evaluation import Embeddings, Labels, evaluate_distances, market1501, no_camera
from reid_core.evaluation.metrics.caveats import chance_caveat, collapse_caveat, tie_caveat
from reid_core.evaluation.trials import mean_of_trials


def evaluate(distances, query_pids, gallery_pids):
    return evaluate_distances(
        np.asarray(distances, dtype=np.float32),
        Labels(np.array(query_pids), np.zeros(len(query_pids), dtype=int)),
        Labels(np.array(gallery_pids), np.ones(len(gallery_pids), dtype=int)),
        protocol=market1501(),
    )


def test_case_b059_mostly_tied_distances_are_counted_and_said():
    result = evaluate([[0.5, 0.5, 0.5], [0.1, 0.2, 0.3]], [1, 2], [1, 2, 2])
    assert result.num_tied == 1
    (warning,) = result.warnings()
    assert warning.startswith("most distances are tied for 1 of 2 queries: ")
    assert evaluate([[0.1, 0.2, 0.3]], [1], [1, 2, 2]).warnings() == []


def test_ties_are_said_of_drawn_trials_too():
    parts = [evaluate([[0.1, 0.5]], [1], [1, 2]), evaluate([[0.5, 0.5]], [1], [1, 2])]
    together = mean_of_trials(parts, [np.array([0]), np.array([0])], num_rows=3)
    assert together.num_tied == 1


@pytest.mark.parametrize(
    ("rank1", "chance", "num_queries", "is_said"),
    [
        (0.10, 0.10, 100, True),
        (0.15, 0.10, 100, True),
        (0.17, 0.10, 100, False),
        (0.02, 0.10, 100, True),
        (0.10, 0.10, 19, False),
        (1.0, 1.0, 100, False),
    ],
)
def test_a_rank1_within_two_deviations_of_chance_is_said(rank1, chance, num_queries, is_said):
    assert (chance_caveat(rank1, chance, num_queries) is not None) == is_said


def test_random_embeddings_are_at_chance_level_and_others_are_not():
    rng = np.random.default_rng(0)
    pids = np.arange(60) % 10
    is_same = pids[:, None] == pids
    random = rng.random((60, 60)).astype(np.float32)
    labels = Labels(pids, np.zeros(60, dtype=int))
    poor = evaluate_distances(random, labels, labels, protocol=no_camera())
    good = evaluate_distances(random - is_same * 0.2, labels, labels, protocol=no_camera())
    assert any("rank1 is at chance level: " in warning for warning in poor.warnings())
    assert "embeddings without any information have 10.00 %" in poor.warnings()[0]
    assert good.warnings() == []


def embeddings(features):
    number = len(features)
    return Embeddings(
        torch.as_tensor(features, dtype=torch.float32), np.arange(number), np.zeros(number, int)
    )


def test_collapsed_embeddings_are_said_under_the_distance_that_they_collapse_for():
    rng = np.random.default_rng(0)
    point = rng.normal(size=(1, 16))
    near = embeddings(point + 1e-3 * rng.normal(size=(30, 16)))
    apart = embeddings(rng.normal(size=(30, 16)))
    scaled = embeddings(point * np.linspace(1, 5, 30)[:, None])
    for distance in ("cosine", "euclidean"):
        assert "embeddings are nearly one point" in (
            collapse_caveat(near, near, distance=distance) or ""
        )
        assert collapse_caveat(apart, apart, distance=distance) is None
        assert collapse_caveat(near, apart, distance=distance) is None
    assert collapse_caveat(scaled, scaled, distance="cosine")
    assert collapse_caveat(scaled, scaled, distance="euclidean") is None


def test_nothing_is_said_where_there_is_nothing_to_say():
    assert tie_caveat(0, 10) is None
    assert collapse_caveat(embeddings(np.ones((1, 3))), embeddings(np.ones((0, 3)))) is None
