from __future__ import annotations

import datetime
import sys

import numpy as np
import pytest
from PIL import Image

from reid_core.data.datasets.parquet import parquet
from reid_core.data.datasets.tables import parquet_file
from reid_core.errors import DataError

pa = pytest.importorskip("pyarrow", reason="the extra 'parquet' is not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="the extra 'parquet' is not installed")


@pytest.fixture
def write(tmp_path):
    for name in ("a.png", "b.png", "c.png"):
        Image.new("RGB", (10, 10)).save(tmp_path / name)

    def table(**columns):
        rows = {"path": ["b.png", "a.png", "c.png"], "pid": ["x", "y", "y"], **columns}
        pq.write_table(pa.table(rows), tmp_path / "mine.parquet")
        return tmp_path / "mine.parquet"

    return table


def message(call, *arguments, **parameters):
    with pytest.raises(DataError) as caught:
        call(*arguments, **parameters)
    return str(caught.value)


def test_path_and_pid_are_enough(write, tmp_path):
    manifest = parquet(write())
    assert (manifest.name, manifest.root) == ("mine", tmp_path)
    assert manifest.paths.tolist() == ["b.png", "a.png", "c.png"]
    assert manifest.pids.tolist() == ["x", "y", "y"]
    assert not manifest.has_cameras


@pytest.mark.parametrize("block", [1, 2**16])
def test_types_are_those_of_the_file(block, write, monkeypatch):
    monkeypatch.setattr(parquet_file, "_BLOCK", block)
    manifest = parquet(
        write(
            pid=["1", "02", "1"],
            camid=pa.array([3, 2, 3], pa.int16()),
            split=pa.array(["train", "query", "test"]).dictionary_encode(),
            species=pa.array(["lion", None, "lion"], pa.large_string()),
            weight=[1, None, 3],
            attributes=pa.array([[0, 1], [1, 1], [-1, 0]], pa.list_(pa.int8(), 2)),
            times=pa.array([datetime.datetime(1970, 1, 2), None, None], pa.timestamp("ms")),
            boxes=[[1, 2, 3, 4], None, [5.0, 6, 7, 8]],
        )
    )
    assert manifest.pids.tolist() == ["1", "02", "1"]
    assert manifest.camids.tolist() == [3, 2, 3]
    assert manifest.camids.dtype == np.int64
    assert manifest.splits.tolist() == ["train", "query", "gallery"]
    assert manifest.columns["species"].tolist() == ["lion", "", "lion"]
    np.testing.assert_array_equal(manifest.columns["weight"], [1, np.nan, 3])
    assert manifest.columns["attributes"].tolist() == [[0, 1], [1, 1], [-1, 0]]
    np.testing.assert_array_equal(manifest.columns["times"], [86400, np.nan, np.nan])
    expected = [[1, 2, 3, 4], [np.nan] * 4, [5, 6, 7, 8]]
    np.testing.assert_array_equal(manifest.columns["boxes"], expected)
    assert manifest.notes == ("1 row without a box: the whole image, for example a.png",)


def test_text_that_looks_like_a_number_stays_text(write):
    assert parquet(write(pid=["1", "2", "10"])).identities.tolist() == ["1", "10", "2"]


def test_numbers_that_pandas_made_floats_are_identities(write):
    assert parquet(write(pid=[1.0, 2.0, 10.0])).pids.tolist() == [1, 2, 10]
    text = message(parquet, write(pid=[1.0, None, 2.0]))
    assert "mine.parquet), row 2, column pid: it is empty; expected an integer or text" in text
    assert "row 3, column pid: it is 2.5" in message(parquet, write(pid=[1.0, 1.0, 2.5]))


def test_columns_of_open_metric_learning_and_of_truth_values(write):
    manifest = parquet(
        write(
            split=["train", "validation", "validation"],
            is_query=[None, True, False],
            is_gallery=[None, False, True],
            is_young=[True, False, True],
        )
    )
    assert manifest.splits.tolist() == ["train", "query", "gallery"]
    assert manifest.columns["is_young"].tolist() == [True, False, True]
    unknown = parquet(write(is_young=[True, None, False])).columns["is_young"]
    np.testing.assert_array_equal(unknown, [1, np.nan, 0])


def test_the_index_of_pandas_and_a_column_of_nulls_do_no_harm(write):
    manifest = parquet(write(__index_level_0__=[5, 6, 7], camid=pa.nulls(3), note=pa.nulls(3)))
    assert not manifest.has_cameras
    assert list(manifest.columns) == ["note"]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"pid": ["x", None, "y"]}, "row 2, column pid: it is empty"),
        ({"path": [1, 2, 3]}, "column path is int64; expected text, the images' paths"),
        ({"more": [{"a": 1}] * 3}, "column more is struct<a: int64>; expected text, numbers"),
        ({"more": [[1], [1, 2], [1]]}, "column more has lists of [1, 2] numbers; expected one"),
        ({"more": [["a"], [None], ["b"]]}, "column more has lists of something else"),
        ({"split": ["train", "val", "val"]}, "row 2, column split: got 'val'; expected one of"),
        ({"boxes": [[1, 2, 3]] * 3}, "column boxes: got (3,) values; expected x, y, width and hei"),
        ({"boxes": [[0.1, 0.2, 0.3, 0.4]] * 3}, "above 0.4, so they look like fractions"),
    ],
)
def test_a_table_that_cannot_be_understood_says_where_and_why(columns, expected, write):
    assert expected in message(parquet, write(**columns))


def test_a_missing_column_lists_those_that_are_there(write):
    path = write(who=["x", "y", "z"])
    text = message(parquet, path, columns={"pid": "whom"})
    assert "the column whom, which is not there; did you mean who?" in text
    assert "the columns are path, pid, who" in text
    assert parquet(path, columns={"pid": "who"}).pids.tolist() == ["x", "y", "z"]


def test_another_file_is_no_parquet(tmp_path):
    (tmp_path / "mine.parquet").write_text("path,pid\n")
    assert "cannot be read as Parquet" in message(parquet, tmp_path / "mine.parquet")
    assert "there is no file" in message(parquet, tmp_path / "other.parquet")


def test_without_pyarrow_the_extra_is_named(write, monkeypatch):
    path = write()
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    assert "pip install 'reid-core[parquet]'" in message(parquet, path)
