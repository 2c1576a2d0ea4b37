from dataclasses import dataclass

import numpy as np
import pytest

from reid_core.errors import DataError, PluginError
from reid_core.evaluation import Labels, Protocol, evaluate_distances, market1501, no_camera


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


def test_case_b039_without_a_camera_filter_the_nearest_image_of_the_identity_is_found():
    query, gallery = labels([1], [0]), labels([1, 2], [0, 0])
    result = evaluate_distances(np.array([[0.1, 0.2]]), query, gallery, protocol=no_camera())
    assert (result.rank(1), result.mAP) == (1.0, 1.0)
    assert result.protocol == "no_camera"
    assert "camera filter off" in result.protocol_description


def test_no_camera_leaves_out_junk_alone():
    mask = no_camera().excluded(labels([1, 2], [0, 1]), labels([1, 1, -1, 0, 2], [0, 1, 5, 0, 1]))
    assert mask.tolist() == [[False, False, True, False, False]] * 2


def test_a_protocol_says_whether_it_needs_cameras():
    assert market1501().needs_cameras
    assert not no_camera().needs_cameras
    assert not EveryCamera(name="x", description="y").needs_cameras


@dataclass(frozen=True)
class OtherClothes(Protocol):
    """A protocol that reads a column of the test set."""

    def excluded(self, query, gallery):
        worn = query.column("clothids")[:, None] == gallery.column("clothids")
        return worn & (query.pids[:, None] == gallery.pids)


def test_a_protocol_reads_the_columns_of_the_test_set():
    query = Labels(np.array([1]), np.array([0]), {"clothids": np.array(["red"])})
    gallery = Labels(
        np.array([1, 2, 1]), np.array([0, 0, 0]), {"clothids": np.array(["red", "red", "blue"])}
    )
    protocol = OtherClothes(name="clothes", description="other clothes only")
    distances = np.array([[0.1, 0.2, 0.3]])
    result = evaluate_distances(distances, query, gallery, protocol=protocol)
    assert result.num_candidates.tolist() == [2]
    assert result.rank(1) == 0
    assert gallery.block(1, 3).column("clothids").tolist() == ["red", "blue"]


def test_a_column_that_is_not_there_is_named_with_those_that_are():
    plain = Labels(np.array([1]), np.array([0]), {"viewids": np.array([0])})
    with pytest.raises(DataError, match=r"needs the column clothids, and the test set has viewids"):
        plain.column("clothids")
    numbered = Labels(np.array([1]), np.array([0]), {"rows": np.array([0])})
    with pytest.raises(DataError, match=r"the test set has no further columns"):
        numbered.column("clothids")


def test_a_column_of_another_length_is_refused():
    with pytest.raises(DataError, match=r"2 pids but 1 entries in column viewids"):
        Labels(np.array([1, 2]), np.array([0, 0]), {"viewids": np.array([0])})
