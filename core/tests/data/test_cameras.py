from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reid_core.data.cameras import CameraMap, number_of_views
from reid_core.data.manifest import Manifest
from reid_core.errors import DataError


def rows(name, cameras, **columns):
    return Manifest(
        name=name,
        root=Path(),
        paths=np.array([f"{row}.jpg" for row in range(len(cameras))]),
        pids=np.zeros(len(cameras), dtype=np.int64),
        camids=np.array(cameras),
        splits=np.array(["train"] * len(cameras)),
        columns={key: np.asarray(value) for key, value in columns.items()},
    )


TRAIN = [rows("a", [6, 2, 6]), rows("b", ["x", "w"])]


def test_cameras_of_different_sets_never_share_a_code():
    cameras = CameraMap.of(TRAIN)
    assert cameras.num_cameras == 4
    assert cameras.training_codes(TRAIN).tolist() == [1, 0, 1, 3, 2]


def test_a_test_set_has_the_codes_of_the_training_set_of_its_name():
    assert CameraMap.of(TRAIN).codes(rows("b", ["w", "x", "w"])).tolist() == [2, 3, 2]


def test_a_map_survives_a_checkpoint():
    cameras = CameraMap.of(TRAIN)
    again = CameraMap.from_plain(cameras.to_plain())
    assert again.to_plain() == cameras.to_plain()
    assert again.codes(rows("a", [2, 6])).tolist() == [0, 1]


def test_b106_a_camera_that_was_not_trained_with_is_named():
    with pytest.raises(DataError, match=r"data set a: camera 5 is not among the 2 cameras.*2, 6"):
        CameraMap.of(TRAIN).codes(rows("a", [2, 5]))


def test_another_set_is_refused():
    with pytest.raises(DataError, match=r"data set c: .*training sets \(a, b\)"):
        CameraMap.of(TRAIN).codes(rows("c", [2]))


def test_views_are_counted_where_every_set_has_them():
    first, second = rows("a", [1, 1], viewids=[0, 2]), rows("b", [1], viewids=[4])
    assert number_of_views([first, second]) == 5
    assert number_of_views([first, rows("c", [1])]) is None


@pytest.mark.parametrize("views", [[-1], [0.5], [[1, 2]], ["left"]])
def test_views_that_are_no_codes_count_as_not_known_and_are_warned_of(views, caplog):
    assert number_of_views([rows("a", [1], viewids=views)]) is None
    assert "column viewids is not (N,) integers from 0" in caplog.text


def test_a_set_that_does_not_know_its_cameras_has_none():
    blind = replace(rows("c", [0, 0]), has_cameras=False)
    cameras = CameraMap.of([TRAIN[0], blind])
    assert cameras.num_cameras is None
    assert cameras.training_codes([TRAIN[0], blind]).tolist() == [1, 0, 1, -1, -1]
    assert CameraMap.of(TRAIN).num_cameras == 4
    for asked in (blind, replace(TRAIN[0], has_cameras=False)):
        with pytest.raises(DataError, match=r"its cameras are not known.*sie: null"):
            cameras.codes(asked)
    copied = CameraMap.from_plain(cameras.to_plain())
    assert copied.num_cameras is None
