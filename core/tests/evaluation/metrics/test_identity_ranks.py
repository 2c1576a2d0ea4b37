"""CMC over identities: each counts once, at its nearest entry."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from reid_core.evaluation import AnyCamera, Labels, evaluate_distances, no_camera


@dataclass(frozen=True)
class OnceEach(AnyCamera):
    scoring: ClassVar[str] = "identities"


PROTOCOL = OnceEach("once", "each identity once")


def labels(pids):
    return Labels(np.array(pids), np.zeros(len(pids), dtype=int))


def test_two_images_of_one_identity_before_the_match_count_once():
    distances = np.array([[0.1, 0.2, 0.3, 0.4]])
    query, gallery = labels([1]), labels([2, 2, 1, 3])
    once = evaluate_distances(distances, query, gallery, protocol=PROTOCOL)
    assert once.cmc[:3].tolist() == [0.0, 1.0, 1.0]
    plain = evaluate_distances(distances, query, gallery, protocol=no_camera())
    assert plain.cmc[:3].tolist() == [0.0, 0.0, 1.0]
    assert once.mAP == plain.mAP == pytest.approx(1 / 3)


def test_tied_identities_take_every_order_alike():
    distances = np.array([[0.2, 0.2, 0.2, 0.1]])
    result = evaluate_distances(distances, labels([1]), labels([1, 2, 3, 4]), protocol=PROTOCOL)
    np.testing.assert_allclose(result.cmc[:4], [0, 1 / 3, 2 / 3, 1], atol=1e-12)


def test_it_equals_plain_loops():
    rng = np.random.default_rng(0)
    query, gallery = labels(rng.integers(0, 6, 20)), labels(rng.integers(-1, 6, 50))
    distances = rng.random((20, 50))
    result = evaluate_distances(distances, query, gallery, protocol=PROTOCOL, block_size=6)
    ranks = []
    for row, pid in enumerate(query.pids):
        seen = []
        for column in np.argsort(distances[row]):
            other = gallery.pids[column]
            if other != -1 and other not in seen:
                seen.append(other)
        ranks.append(seen.index(pid))
    expected = [np.mean(np.array(ranks) < k) for k in range(1, 7)]
    np.testing.assert_allclose(result.cmc[:6], expected)
