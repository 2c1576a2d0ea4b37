from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from reid_core.data.manifest import Manifest, no_cameras
from reid_core.data.splitting.times import (
    BETWEEN,
    GALLERY,
    QUERY,
    stages_across,
    stages_within,
)
from reid_core.errors import DataError


def manifest(count: int, **columns: np.ndarray) -> Manifest:
    return Manifest(
        name="x",
        root=Path("x"),
        paths=np.array([f"{row}.jpg" for row in range(count)]),
        pids=np.zeros(count, dtype=np.int64),
        camids=no_cameras(count),
        splits=np.array(["train"] * count),
        columns=columns,
        has_cameras=False,
    )


def within(frames: list[float], **more: list[object]) -> list[int]:
    columns = {"frames": frames, **more}
    arrays = {name: np.array(values) for name, values in columns.items()}
    stages = stages_within(manifest(len(frames), **arrays), np.zeros(len(frames), dtype=np.intp))
    assert stages is not None
    return stages.tolist()


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        ([1, 2], [GALLERY, QUERY]),
        ([2, 1], [QUERY, GALLERY]),
        ([1, 2, 3], [GALLERY, BETWEEN, QUERY]),
        ([1, 2, 3, 4, 5, 6], [GALLERY, GALLERY, BETWEEN, BETWEEN, QUERY, QUERY]),
        ([5, 5, 5], [BETWEEN, BETWEEN, BETWEEN]),
        ([1, 1, 1, 2], [GALLERY, GALLERY, GALLERY, QUERY]),
        ([1.0, float("nan"), 2.0], [GALLERY, BETWEEN, QUERY]),
    ],
)
def test_the_first_third_is_for_the_gallery_and_the_last_for_queries(
    frames: list[float], expected: list[int]
) -> None:
    assert within(frames) == expected


def test_recordings_come_before_frames() -> None:
    # Frame 9 of the first recording is before frame 1 of the second.
    assert within([9, 1], sequences=["a", "b"]) == [GALLERY, QUERY]


def test_times_go_before_frames() -> None:
    assert within([1, 2], times=[7.0, 3.0]) == [QUERY, GALLERY]


def test_recordings_alone_are_apart_already() -> None:
    rows = manifest(4, sequences=np.array(["b", "a", "c", "b"]))
    stages = stages_within(rows, np.zeros(4, dtype=np.intp))
    assert stages is not None
    assert stages.tolist() == [GALLERY, GALLERY, QUERY, GALLERY]


def test_each_identity_has_moments_of_its_own() -> None:
    rows = manifest(4, frames=np.array([1, 2, 101, 102]))
    stages = stages_within(rows, np.array([0, 0, 1, 1]))
    assert stages is not None
    assert stages.tolist() == [GALLERY, QUERY, GALLERY, QUERY]


def test_data_without_times_has_no_stages() -> None:
    assert stages_within(manifest(3), np.zeros(3, dtype=np.intp)) is None


def test_the_whole_set_is_cut_at_its_median() -> None:
    rows = manifest(5, times=np.array([4.0, 1.0, np.nan, 3.0, 2.0]))
    assert stages_across(rows).tolist() == [QUERY, GALLERY, BETWEEN, QUERY, GALLERY]


def test_a_median_that_is_the_latest_time_still_cuts() -> None:
    rows = manifest(3, times=np.array([1.0, 5.0, 5.0]))
    assert stages_across(rows).tolist() == [GALLERY, QUERY, QUERY]


def test_recordings_are_cut_in_sorted_order() -> None:
    rows = manifest(3, sequences=np.array(["2024-03", "2024-01", "2024-02"]))
    assert stages_across(rows).tolist() == [QUERY, GALLERY, GALLERY]


def test_data_without_times_cannot_be_cut_by_time() -> None:
    rows = manifest(2, viewids=np.array([0, 1]))
    with pytest.raises(DataError) as caught:
        stages_across(rows)
    assert str(caught.value) == (
        "data set x: --by time needs a column times, frames or sequences; its further columns: "
        "viewids; add one, or cut it --by identity"
    )


def test_equal_times_cannot_be_cut() -> None:
    with pytest.raises(DataError, match="all its images have the same time"):
        stages_across(manifest(2, times=np.array([3.0, 3.0])))
