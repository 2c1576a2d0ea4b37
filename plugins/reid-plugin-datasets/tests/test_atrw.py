import json

import pytest

from reid_core.errors import ConfigError, DataError
from reid_core.evaluation import Labels
from reid_core.evaluation.protocols.atrw import atrw as protocol
from reid_plugin_datasets.atrw import atrw
from reid_plugin_datasets.testing.animals import write_atrw

TRUTH = "ATRWEvalScript-main/annotations/gt_test_plain.json"


def test_lists_and_annotation_become_rows(tmp_path):
    manifest = atrw(write_atrw(tmp_path))
    assert manifest.splits.tolist() == ["train"] * 3 + ["query"] * 2 + ["gallery"] * 4
    assert manifest.paths[0] == "atrw_reid_train/train/000001.jpg"
    assert manifest.pids.tolist() == [12, 12, 199, 235, 235, 73, 235, 73, 235]
    assert manifest.camids.tolist() == [
        *["not known"] * 3,
        *["30_1", "31_4"],
        *["4_3", "30_1", "4_3", "31_4"],
    ]
    assert manifest.columns["frames"].tolist() == [-1, -1, -1, 111, 1089, 2070, 111, 2090, 1089]
    assert manifest.columns["sequences"].tolist() == manifest.camids.tolist()


def test_every_query_has_a_match_in_another_recording(tmp_path):
    manifest = atrw(write_atrw(tmp_path))
    query, gallery = manifest.select("query"), manifest.select("gallery")
    for pid, camid in zip(query.pids, query.camids, strict=True):
        assert ((gallery.pids == pid) & (gallery.camids != camid)).any()


def test_training_alone_needs_no_test(tmp_path):
    manifest = atrw(write_atrw(tmp_path), test=False)
    assert set(manifest.splits.tolist()) == {"train"}
    assert manifest.expected == {"train": (1887, 107)}


def test_archives_may_be_unpacked_into_one_folder(tmp_path):
    write_atrw(tmp_path)
    flat = tmp_path / "flat" / "ATRW"
    flat.mkdir(parents=True)
    (tmp_path / "atrw_reid_train" / "train").rename(flat / "train")
    (tmp_path / "atrw_reid_test" / "test").rename(flat / "test")
    (tmp_path / "atrw_anno_reid_train/reid_list_train.csv").rename(flat / "reid_list_train.csv")
    (tmp_path / TRUTH).rename(flat / "gt_test_plain.json")
    manifest = atrw(tmp_path / "flat")
    assert manifest.select("gallery").paths[0] == "test/000006.jpg"
    assert len(manifest) == 9


def test_a_missing_test_is_named_with_the_way_out(tmp_path):
    (write_atrw(tmp_path) / TRUTH).unlink()
    with pytest.raises(
        DataError,
        match=r"has none of gt_test_plain.json, annotations/.*holds the folders ATRWEvalScript-main"
        r".*or set test: false",
    ):
        atrw(tmp_path)


def test_a_wrong_folder_is_named_with_the_right_one(tmp_path):
    write_atrw(tmp_path / "tigers")
    with pytest.raises(DataError, match=r"there is no folder .*nowhere.*which holds tigers"):
        atrw(tmp_path / "nowhere")
    with pytest.raises(
        DataError, match=r"lacks atrw_reid_train/train, atrw_anno_.*; .*/tigers holds them"
    ):
        atrw(tmp_path / "tigers" / "atrw_reid_test")


def test_training_images_that_were_not_unpacked_are_named(tmp_path):
    write_atrw(tmp_path)
    (tmp_path / "atrw_reid_train").rename(tmp_path / "old")
    with pytest.raises(
        DataError, match=r"none of atrw_reid_train/train, train.*unpack the archive"
    ):
        atrw(tmp_path)


def test_images_and_entries_that_do_not_meet_are_noted(tmp_path):
    folder = write_atrw(tmp_path) / "atrw_reid_test" / "test"
    (folder / "000006.jpg").rename(folder / "000099.jpg")
    assert atrw(tmp_path).notes[2:] == (
        f"1 test images left out that {TRUTH} lacks",
        f"1 images of {TRUTH} are not in atrw_reid_test/test",
    )
    for number, path in enumerate(sorted(folder.iterdir())):
        path.rename(folder / f"{number + 500}.jpg")
    with pytest.raises(
        DataError, match=r"knows no image of .*test, such as atrw_reid_test/test/50"
    ):
        atrw(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "cannot be read: JSONDecodeError"),
        (json.dumps([{"imgid": 1}]), "cannot be read: KeyError.*expected a list of entries like"),
        (json.dumps([{"imgid": 1, "entityid": 2, "frame": [1, 2], "query": "sing"}]), "IndexError"),
    ],
)
def test_an_annotation_of_another_form_is_refused(tmp_path, text, message):
    (write_atrw(tmp_path) / TRUTH).write_text(text)
    with pytest.raises(DataError, match=message):
        atrw(tmp_path)


def test_a_line_that_is_none_is_refused(tmp_path):
    path = write_atrw(tmp_path) / "atrw_anno_reid_train" / "reid_list_train.csv"
    path.write_text("12,000001.jpg\n000002.jpg,12\n")
    with pytest.raises(DataError, match=r"entry 2: '000002.jpg,12' is no identity and image"):
        atrw(tmp_path)


def test_images_that_are_not_where_the_list_says_are_named(tmp_path):
    folder = write_atrw(tmp_path) / "atrw_reid_train" / "train"
    (folder / "000002.jpg").unlink()
    assert (
        "1 of the 3 images of atrw_anno_reid_train/reid_list_train.csv" in atrw(tmp_path).notes[1]
    )
    for path in folder.iterdir():
        path.rename(path.with_suffix(".png"))
    with pytest.raises(
        DataError, match=r"names atrw_reid_train/train/000001.jpg.*holds 000001.png"
    ):
        atrw(tmp_path)


def test_single_camera_queries_are_the_other_half(tmp_path):
    manifest = atrw(write_atrw(tmp_path), queries="single_camera")
    query = manifest.select("query")
    assert query.pids.tolist() == [73, 73]
    assert len(manifest.select("gallery")) == 4
    assert manifest.notes[1].startswith("queries: single_camera; they are in the gallery")
    # The two images are 20 frames apart in one recording: the protocol leaves out the query alone.
    sides = [
        Labels(side.pids, side.camid_codes, side.columns)
        for side in (query, manifest.select("gallery"))
    ]
    assert protocol().excluded(*sides).sum() == 2


def test_a_test_without_such_queries_is_refused(tmp_path):
    file = write_atrw(tmp_path) / TRUTH
    entries = json.loads(file.read_text())
    file.write_text(json.dumps([{**one, "query": "multi"} for one in entries]))
    with pytest.raises(
        DataError, match=r"marks no image of .* the kind single_camera; set queries"
    ):
        atrw(tmp_path, queries="single_camera")


def test_another_kind_of_queries_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"queries is 'all'; expected cross_camera or single_cam"):
        atrw(write_atrw(tmp_path), queries="all")
