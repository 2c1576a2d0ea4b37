from dataclasses import dataclass

import numpy as np
import pytest

from reid_core.errors import PluginError
from reid_core.evaluation import Labels, Protocol, evaluate_distances, market1501


def labels(pids, camids):
    return Labels(np.array(pids), np.array(camids))


@dataclass(frozen=True)
class EveryCamera(Protocol):
    """A protocol as a third party would write it."""

    def excluded(self, query, gallery):
        return np.zeros((len(query), len(gallery)), dtype=bool)


def test_market1501_leaves_out_own_camera_and_junk_and_keeps_distractors():
    mask = market1501().excluded(
        labels([1, 2], [0, 1]), labels([1, 1, -1, 0, 2, 2], [0, 1, 5, 0, 1, 0])
    )
    assert mask.tolist() == [
        [True, False, True, False, False, False],
        [False, False, True, False, True, False],
    ]


def test_market1501_has_a_name_and_a_description_of_one_line():
    protocol = market1501()
    assert protocol.name == "market1501"
    assert protocol.description
    assert "\n" not in protocol.description


def test_junk_counts_neither_as_match_nor_as_mistake():
    with_junk = evaluate_distances(
        np.array([[0.1, 0.2, 0.3]]),
        labels([1], [0]),
        labels([-1, 2, 1], [1, 1, 1]),
        protocol=market1501(),
    )
    assert with_junk.mAP == 0.5
    assert with_junk.num_candidates.tolist() == [2]


def test_distractors_count_as_mistakes():
    result = evaluate_distances(
        np.array([[0.1, 0.2, 0.3]]),
        labels([1], [0]),
        labels([0, 0, 1], [0, 1, 1]),
        protocol=market1501(),
    )
    assert result.mAP == pytest.approx(1 / 3)


def test_a_junk_query_has_no_match_and_is_skipped():
    result = evaluate_distances(
        np.array([[0.1, 0.2], [0.1, 0.2]]),
        labels([-1, 1], [0, 0]),
        labels([-1, 1], [1, 1]),
        protocol=market1501(),
    )
    assert result.num_skipped == 1
    assert np.isnan(result.ap[0])


def test_case_b048_another_protocol_gives_its_own_figures_and_its_name():
    distances = np.array([[0.1, 0.2, 0.3]])
    query, gallery = labels([1], [0]), labels([1, 2, 1], [0, 1, 1])
    filtered = evaluate_distances(distances, query, gallery, protocol=market1501())
    assert (filtered.mAP, filtered.rank(1)) == (0.5, 0.0)
    free = evaluate_distances(
        distances,
        query,
        gallery,
        protocol=EveryCamera("every_camera", "no gallery entry is left out"),
    )
    assert free.mAP == pytest.approx(0.833333, abs=1e-6)
    assert free.rank(1) == 1.0
    assert free.protocol == "every_camera"
    assert "protocol every_camera: no gallery entry is left out" in free.summary()


def test_a_protocol_that_answers_in_another_shape_is_named():
    @dataclass(frozen=True)
    class Wrong(Protocol):
        def excluded(self, query, gallery):
            return np.zeros(len(gallery), dtype=bool)

    with pytest.raises(PluginError, match=r"protocol wrong: .*\(2,\) bool; expected \(1, 2\) bool"):
        evaluate_distances(
            np.array([[0.1, 0.2]]),
            labels([1], [0]),
            labels([1, 2], [1, 1]),
            protocol=Wrong("wrong", "one row"),
        )
