from pathlib import Path

import numpy as np
import pytest

from reid_core.data.manifest import Manifest
from reid_core.errors import DataError


def manifest(**changes):
    columns = {
        "name": "zoo",
        "root": Path("zoo"),
        "paths": np.array(["a.jpg", "b.jpg", "c.jpg", "d.jpg"]),
        "pids": np.array([7, 7, 3, 3]),
        "camids": np.array(["north", "south", "north", "north"]),
        "splits": np.array(["query", "train", "train", "gallery"]),
        "notes": ("one note",),
        "columns": {"views": np.array([[1, 2], [3, 4], [5, 6], [7, 8]])},
        **changes,
    }
    return Manifest(**columns)


def test_select_keeps_the_rows_of_a_split_in_their_order():
    train = manifest().select("train")
    assert train.paths.tolist() == ["b.jpg", "c.jpg"]
    assert train.pids.tolist() == [7, 3]
    assert train.camids.tolist() == ["south", "north"]
    assert train.splits.tolist() == ["train", "train"]
    assert train.columns["views"].tolist() == [[3, 4], [5, 6]]
    assert (train.name, train.root, train.notes) == ("zoo", Path("zoo"), ("one note",))


def test_take_gives_the_rows_asked_for_in_that_order():
    taken = manifest().take(np.array([3, 0, 0]))
    assert taken.paths.tolist() == ["d.jpg", "a.jpg", "a.jpg"]
    assert taken.pids.tolist() == [3, 7, 7]
    assert taken.columns["views"].tolist() == [[7, 8], [1, 2], [1, 2]]
    assert len(taken) == 3


def test_the_summary_counts_images_identities_and_cameras():
    assert manifest().summary() == (
        "zoo: train 2 images of 2 ids, query 1 images of 1 ids, gallery 1 images of 1 ids, "
        "2 cameras"
    )


def test_the_summary_of_an_empty_data_set_says_so():
    assert manifest().take(np.array([], dtype=np.intp)).summary() == "zoo: no images"


@pytest.mark.parametrize("column", ["paths", "pids", "camids", "splits"])
def test_columns_of_other_length_are_refused_with_all_lengths(column):
    short = getattr(manifest(), column)[:3]
    with pytest.raises(DataError, match=f"zoo: columns differ in length: .*'{column}': 3"):
        manifest(**{column: short})


def test_a_further_column_of_other_length_is_refused():
    with pytest.raises(DataError, match="'weather': 1"):
        manifest(columns={"weather": np.array(["rain"])})


def test_an_unknown_split_is_named():
    splits = np.array(["train", "val", "query", "gallery"])
    with pytest.raises(DataError, match=r"unknown split \['val'\]; expected one of"):
        manifest(splits=splits)


@pytest.mark.parametrize(
    ("column", "values", "found"),
    [
        ("paths", ["a", "b", "c", "d"], "a list"),
        ("paths", np.array([1, 2, 3, 4]), "int64"),
        ("pids", np.array([1.0, 2.0, np.nan, 4.0]), "float64"),
        ("pids", np.array(["a", "b", "c", "d"], dtype=object), "object"),
        ("camids", np.zeros((4, 1), dtype=np.int64), r"\(4, 1\) int64"),
        ("splits", ("train",) * 4, "a tuple"),
    ],
)
def test_a_column_of_another_type_is_refused_by_name(column, values, found):
    with pytest.raises(DataError, match=f"zoo: column {column} is .*{found}.* expected a numpy"):
        manifest(**{column: values})


def test_identities_may_be_text_or_integers_of_any_width():
    for pids in (np.array(["a", "b", "c", "d"]), np.array([1, 2, 3, 4], dtype=np.uint8)):
        assert manifest(pids=pids).pids.tolist() == pids.tolist()


def test_manifests_can_be_compared_and_hashed():
    first, second = manifest(), manifest()
    assert first == first
    assert first != second
    assert len({first, second}) == 2
