from pathlib import Path

import numpy as np
import pytest

from reid_core.data.columns import number_columns
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


def test_other_shapes_and_reserved_names_are_refused():
    with pytest.raises(DataError, match=r"column table has other shapes.*'a': \(1, 2\)"):
        number_columns([rows("a", table=[[1, 2]]), rows("b", table=[[1, 2, 3]])])
    with pytest.raises(DataError, match="column is_valid has a reserved name"):
        number_columns([rows("a", is_valid=[1])])
