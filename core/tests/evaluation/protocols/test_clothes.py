import numpy as np
import pytest

from reid_core.errors import ConfigError, DataError
from reid_core.evaluation.protocols.clothes import clothes_change, ltcc


@pytest.fixture
def sides(points):
    # Distances of identity 1, in camera 0 and clothes 10:
    #   1: itself in camera 0, other clothes    2: itself in camera 1, the same clothes
    #   3: identity 2, clothes 10 as it happens
    #   4: itself in camera 1, other clothes    5: itself in camera 2, other clothes
    query = points([0], [1], [0], clothids=[10])
    gallery = points(
        [1, 2, 3, 4, 5], [1, 1, 2, 1, 1], [0, 1, 1, 1, 2], clothids=[11, 10, 10, 11, 11]
    )
    return query, gallery


def test_the_standard_setting_leaves_out_the_camera(sides, evaluated):
    # Entries 2 to 5: matches at ranks 1, 3 and 4: AP = (1 + 2/3 + 3/4) / 3, INP = 3/4.
    result = evaluated(*sides, ltcc())
    assert result.mAP == pytest.approx((1 + 2 / 3 + 3 / 4) / 3)
    assert result.mINP == 0.75
    assert "setting standard" in result.protocol_description


@pytest.mark.parametrize("protocol", [ltcc(setting="changed"), clothes_change()])
def test_changed_clothes_leave_out_camera_and_clothes(protocol, sides, evaluated):
    # Entries 3, 4 and 5: matches at ranks 2 and 3: AP = (1/2 + 2/3) / 2. Another person in the
    # same clothes is a mistake.
    result = evaluated(*sides, protocol)
    assert result.mAP == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert result.rank(1) == 0
    assert result.num_candidates.tolist() == [3]
    assert "own clothes or camera left out" in result.protocol_description
    assert protocol.needs_cameras


def test_without_cameras_the_clothes_alone_decide(sides, evaluated):
    # Entries 1, 3, 4 and 5: matches at ranks 1, 3 and 4.
    protocol = clothes_change(cameras="any")
    result = evaluated(*sides, protocol)
    assert result.mAP == pytest.approx((1 + 2 / 3 + 3 / 4) / 3)
    assert result.num_candidates.tolist() == [4]
    assert not protocol.needs_cameras
    assert "camera filter off" in result.protocol_description


def test_a_query_that_never_changes_is_skipped_and_counted(points, evaluated):
    result = evaluated(
        points([0, 0], [1, 2], [0, 0], clothids=[10, 20]),
        points([1, 2], [1, 2], [1, 1], clothids=[10, 21]),
        clothes_change(),
    )
    assert result.num_skipped == 1
    assert result.ap[1] == 0.5
    assert np.isnan(result.ap[0])


def test_clothes_may_have_names(points, evaluated):
    result = evaluated(
        points([0], [1], [0], clothids=["red"]),
        points([1, 2], [1, 1], [1, 1], clothids=["red", "a long blue coat"]),
        clothes_change(),
    )
    assert result.num_matches.tolist() == [1]


def test_junk_is_left_out(points, evaluated):
    result = evaluated(
        points([0], [1], [0], clothids=[10]),
        points([1, 2], [-1, 1], [1, 1], clothids=[12, 11]),
        clothes_change(cameras="any"),
    )
    assert (result.mAP, result.num_candidates.tolist()) == (1, [1])


def test_a_set_that_does_not_tell_clothes_is_refused(points, evaluated):
    query, gallery = points([0], [1], [0]), points([1], [1], [1])
    for protocol in (ltcc(setting="changed"), clothes_change(), clothes_change(cameras="any")):
        with pytest.raises(DataError, match=r"needs the column clothids"):
            evaluated(query, gallery, protocol)


def test_several_clothes_a_row_cannot_be_compared(points, evaluated):
    query = points([0], [1], [0], clothids=[[1, 2]])
    with pytest.raises(DataError, match=r"column clothids is \(1, 2\); expected one value a row"):
        evaluated(query, query, clothes_change())


def test_wrong_parameters_are_refused():
    with pytest.raises(ConfigError, match=r"ltcc: setting is 'old'; expected standard or changed"):
        ltcc(setting="old")
    with pytest.raises(ConfigError, match=r"clothes_change: cameras is 'own'; expected other or"):
        clothes_change(cameras="own")


def test_the_masks_are_those_of_a_loop(points):
    rng = np.random.default_rng(0)
    query, gallery = (
        points(
            np.zeros(n),
            rng.integers(-1, 3, n),
            rng.integers(0, 2, n),
            clothids=rng.integers(0, 3, n),
        ).labels
        for n in (12, 30)
    )
    for cameras in ("other", "any"):
        rows = [
            [
                gallery.pids[g] == -1
                or (
                    query.pids[q] == gallery.pids[g]
                    and (
                        query.columns["clothids"][q] == gallery.columns["clothids"][g]
                        or (cameras == "other" and query.camids[q] == gallery.camids[g])
                    )
                )
                for g in range(30)
            ]
            for q in range(12)
        ]
        assert clothes_change(cameras=cameras).excluded(query, gallery).tolist() == rows


@pytest.mark.parametrize("protocol", [ltcc(setting="changed"), clothes_change()])
def test_a_set_that_does_not_know_its_cameras_keeps_the_rule_of_clothes(protocol):
    assert protocol.without_cameras() == clothes_change(cameras="any")
