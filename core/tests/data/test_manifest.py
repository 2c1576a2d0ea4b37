import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reid_core.data.manifest import Count, Manifest, no_cameras, text_column
from reid_core.data.stores import FolderStore
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
        "zoo: train 2 images of 2 ids, query 1 image of 1 id, gallery 1 image of 1 id, 2 cameras"
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


def test_paths_are_text_of_any_width_whatever_is_given():
    long = "a/" + "b" * 500 + ".jpg"
    given = np.array(["x.jpg", long, "ä/数据.png"])
    manifest = replace(small(), paths=given, **columns_of(3))
    assert manifest.paths.dtype.kind == "T"
    assert manifest.paths.tolist() == given.tolist()
    again = replace(manifest, name="other")
    assert again.paths is manifest.paths, "nothing is converted twice"
    assert text_column(iter(["x", "y"])).tolist() == ["x", "y"]


def columns_of(count):
    return {
        "pids": np.arange(count),
        "camids": np.arange(count),
        "splits": np.array(["train"] * count),
        "columns": {},
    }


def small():
    return Manifest(
        name="zoo",
        root=Path("there"),
        paths=np.array([f"{row}.jpg" for row in range(5)]),
        pids=np.array(["ben", "anna", "ben", "carl", "anna"]),
        camids=np.array([3, 1, 3, 2, 1]),
        splits=np.array(["train", "train", "query", "gallery", "gallery"]),
        columns={"boxes": np.arange(20.0).reshape(5, 4)},
    )


def test_identities_are_sorted_and_rows_know_their_place_among_them():
    manifest = small()
    assert manifest.identities.tolist() == ["anna", "ben", "carl"]
    assert manifest.pid_codes.tolist() == [1, 0, 1, 2, 0]
    assert manifest.count("gallery") == Count(images=2, identities=2)
    assert manifest.count("train") == (2, 2)
    assert manifest.select("query").identities.tolist() == ["ben"]


def test_neighbouring_rows_are_views_and_others_are_copies():
    manifest = small()
    neighbours, others = manifest.take(np.array([1, 2, 3])), manifest.take(np.array([3, 1]))
    assert np.shares_memory(neighbours.camids, manifest.camids)
    assert not np.shares_memory(others.camids, manifest.camids)
    for chosen, rows in ((neighbours, [1, 2, 3]), (others, [3, 1])):
        assert chosen.paths.tolist() == [f"{row}.jpg" for row in rows]
        assert chosen.pids.tolist() == manifest.pids[rows].tolist()
        assert chosen.splits.tolist() == manifest.splits[rows].tolist()
        assert chosen.columns["boxes"].tolist() == manifest.columns["boxes"][rows].tolist()
    assert len(manifest.take(np.array([], dtype=np.int64))) == 0
    assert manifest.take(np.array([-1])).paths.tolist() == ["4.jpg"]


def test_a_split_keeps_all_that_is_known_of_its_rows():
    chosen = replace(small(), has_cameras=False, distractors=(0,)).select("gallery")
    assert (chosen.has_cameras, chosen.distractors) == (False, (0,))
    assert chosen.splits.tolist() == ["gallery", "gallery"]
    assert chosen.select("gallery") is chosen
    assert chosen.select("train").paths.tolist() == []


def test_a_set_without_cameras_says_so():
    blind = replace(small(), camids=no_cameras(5), has_cameras=False)
    assert blind.cameras.tolist() == []
    assert blind.summary().endswith("cameras not known")
    assert small().cameras.tolist() == [1, 2, 3]


def test_what_can_be_computed_is_not_sent_to_other_processes():
    manifest = small()
    before = len(pickle.dumps(manifest))
    assert manifest.identities is not None
    assert len(pickle.dumps(manifest)) == before
    copied = pickle.loads(pickle.dumps(manifest))
    assert copied.identities.tolist() == manifest.identities.tolist()
    assert copied.paths.tolist() == manifest.paths.tolist()


def test_images_are_files_below_the_root_unless_a_store_holds_them(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.jpg").write_bytes(b"bytes")
    manifest = replace(small(), root=tmp_path)
    assert manifest.images.read("a/x.jpg") == b"bytes"
    assert Path(manifest.images.locate("a/x.jpg")) == tmp_path / "a" / "x.jpg"
    other = FolderStore(str(tmp_path / "a"))
    assert replace(manifest, store=other).images.read("x.jpg") == b"bytes"
