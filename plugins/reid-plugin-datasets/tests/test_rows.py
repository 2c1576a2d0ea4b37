import re

import numpy as np
import pytest

from reid_core.data.manifest import Count
from reid_core.errors import DataError
from reid_plugin_datasets.folders import matching
from reid_plugin_datasets.rows import Row, manifest_of

ROWS = [
    Row("a/1.jpg", 7, 2, "train"),
    Row("b/1.jpg", 3, 1, "query"),
    Row("c/1.jpg", 3, 2, "gallery"),
]


def test_rows_keep_their_order_and_values(tmp_path):
    manifest = manifest_of(
        ROWS,
        dataset="mine",
        root=tmp_path,
        notes=["a fact"],
        expected={"train": Count(1, 1)},
        distractors=(0,),
        columns={"frames": [4, 5, 6]},
    )
    assert manifest.paths.tolist() == ["a/1.jpg", "b/1.jpg", "c/1.jpg"]
    assert (manifest.pids.tolist(), manifest.camids.tolist()) == ([7, 3, 3], [2, 1, 2])
    assert manifest.pids.dtype == manifest.camids.dtype == np.int64
    assert manifest.splits.tolist() == ["train", "query", "gallery"]
    assert manifest.columns["frames"].tolist() == [4, 5, 6]
    assert (manifest.name, manifest.notes) == ("mine", ("a fact",))
    assert (manifest.expected, manifest.distractors) == ({"train": Count(1, 1)}, (0,))


def test_text_makes_the_whole_column_text(tmp_path):
    manifest = manifest_of([Row("1.jpg", "b", "x"), Row("2.jpg", 7, 2)], dataset="m", root=tmp_path)
    assert manifest.pids.tolist() == ["b", "7"]
    assert manifest.camids.tolist() == ["x", "2"]


def test_cameras_that_are_not_known_are_not_told(tmp_path):
    manifest = manifest_of(ROWS, dataset="mine", root=tmp_path, has_cameras=False)
    assert manifest.camids.tolist() == [0, 0, 0]
    assert not manifest.has_cameras


def test_what_was_ignored_is_noted(tmp_path):
    for name in ("1_a.jpg", "x.jpg", "y.jpg", "notes.txt"):
        (tmp_path / name).touch()
    part = matching(tmp_path, re.compile(r"\d_"), dataset="mine", example="1_a.jpg")
    manifest = manifest_of(ROWS, dataset="mine", root=tmp_path, title="other", matches=[part])
    assert manifest.name == "other"
    assert manifest.notes == (
        "2 images ignored, whose names are not like 1_a.jpg, for example x.jpg",
        "1 stray files and folders ignored",
    )


def test_no_row_is_an_error_that_shows_what_was_seen(tmp_path):
    (tmp_path / "x.jpg").touch()
    part = matching(tmp_path, re.compile(r"\d_"), dataset="mine", example="1_a.jpg")
    with pytest.raises(DataError, match=r"no usable image in .*do not fit: x.jpg; .* like 1_a.jpg"):
        manifest_of([], dataset="mine", root=tmp_path, matches=[part])
    with pytest.raises(DataError, match=r"data set mine: no usable image; found no image"):
        manifest_of([], dataset="mine", root=tmp_path)
