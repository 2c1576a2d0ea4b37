from pathlib import Path

import numpy as np
import pytest

from reid_core.data.columns import number_columns, shared_columns
from reid_core.data.manifest import Manifest
from reid_core.errors import DataError


def rows(name, **columns):
    count = len(next(iter(columns.values()))) if columns else 1
    return Manifest(
        name=name,
        root=Path(),
        paths=np.array([f"{row}.jpg" for row in range(count)]),
        pids=np.zeros(count, dtype=np.int64),
        camids=np.zeros(count, dtype=np.int64),
        splits=np.array(["train"] * count),
        columns={key: np.asarray(value) for key, value in columns.items()},
    )


def test_columns_of_numbers_are_joined_and_text_stays_behind():
    first = rows("a", viewids=np.array([1, 2], dtype=np.uint8), where=["x", "y"])
    second = rows("b", viewids=[5], where=["z"])
    joined = number_columns([first, second])
    assert list(joined) == ["viewids"]
    assert joined["viewids"].tolist() == [1, 2, 5]
    assert joined["viewids"].dtype == np.int64


def test_what_one_set_lacks_is_left_out():
    assert number_columns([rows("a", viewids=[1]), rows("b", size=[1.5])]) == {}
    assert number_columns([]) == {}


def test_types_are_those_that_become_tensors():
    joined = number_columns([rows("a", size=[1.5], flag=[True], table=[[1, 2]])])
    assert joined["size"].dtype == np.float32
    assert joined["flag"].dtype == np.bool_
    assert joined["table"].shape == (1, 2)


def test_a_column_of_another_width_is_left_out_with_a_warning(caplog):
    first, second = rows("a", table=[[1, 2]], v=[1]), rows("b", table=[[1, 2, 3]], v=[2])
    assert list(number_columns([first, second])) == ["v"]
    assert list(shared_columns([first, second])) == ["v"]
    (message,) = caplog.messages
    assert "column table is left out" in message
    assert "'a': (1, 2), 'b': (1, 3)" in message


def test_reserved_names_are_refused():
    with pytest.raises(DataError, match="column is_valid has a reserved name"):
        number_columns([rows("a", is_valid=[1])])


def test_boxes_times_and_frame_numbers_are_not_sent_with_every_batch():
    facts = rows("a", viewids=[1], boxes=[[0.0, 0, 1, 1]], times=[1e9], frames=[7])
    assert list(number_columns([facts])) == ["viewids"]


def test_samplers_and_protocols_see_numbers_and_text():
    first = rows("a", viewids=[1, 2], where=["x", "y"], only=[1, 1])
    second = rows("b", viewids=[5], where=["z"])
    joined = shared_columns([first, second])
    assert {name: column.tolist() for name, column in joined.items()} == {
        "viewids": [1, 2, 5],
        "where": ["x", "y", "z"],
    }
    assert shared_columns([]) == {}


def test_a_column_of_numbers_here_and_text_there_becomes_text():
    joined = shared_columns([rows("a", clothids=[7, 8]), rows("b", clothids=["red"])])
    assert joined["clothids"].tolist() == ["7", "8", "red"]
    wide = shared_columns([rows("a", v=[[1, 2]]), rows("b", w=[1])])
    assert wide == {}
