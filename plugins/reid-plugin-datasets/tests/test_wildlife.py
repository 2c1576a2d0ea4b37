import time

import numpy as np
import pytest

from reid_core.errors import ConfigError, DataError
from reid_plugin_datasets.testing.animals import write_wildlife
from reid_plugin_datasets.wildlife import wildlife


def write_table(folder, text):
    write_wildlife(folder)
    (folder / "metadata.csv").write_text(text, encoding="utf-8")
    return folder


def test_a_row_is_an_animal_in_an_image(tmp_path):
    manifest = wildlife(write_wildlife(tmp_path))
    assert manifest.pids.tolist() == ["giraffe_2", "giraffe_10", "giraffe_2", "zebra_1"]
    assert manifest.paths.tolist() == ["images/a.jpg"] * 2 + ["images/b.jpg", "images/c.jpg"]
    assert set(manifest.splits.tolist()) == {"train"}
    assert not manifest.has_cameras
    assert manifest.columns["species"].tolist() == ["giraffe"] * 3 + ["zebra"]


def test_an_empty_box_is_the_whole_image(tmp_path):
    manifest = wildlife(write_wildlife(tmp_path))
    boxes = manifest.columns["boxes"]
    assert boxes[[0, 1, 3]].tolist() == [[0, 1, 3, 6], [1, 0, 2, 8], [0, 0, 4, 8]]
    assert np.isnan(boxes[2]).all()
    assert "1 images without a box are taken whole" in manifest.notes


@pytest.mark.parametrize("box", ["[1, 2, 3, 4]", "1 2 3 4", "(1.0,2.0,3.0,4.0)", "1;2;3;4"])
def test_boxes_are_written_in_several_ways(tmp_path, box):
    write_table(tmp_path, f'identity,path,bbox\na,images/a.jpg,"{box}"\nb,images/b.jpg,"[nan]"\n')
    assert wildlife(tmp_path).columns["boxes"][0].tolist() == [1, 2, 3, 4]


def test_sides_are_numbered_in_sorted_order(tmp_path):
    manifest = wildlife(write_wildlife(tmp_path))
    assert manifest.columns["viewids"].tolist() == [0, 1, 1, 2]
    assert "viewids: 0 left, 1 right, 2 unknown" in manifest.notes


@pytest.fixture
def far_west(monkeypatch):
    """A machine whose clock is not UTC's."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Pacific/Honolulu")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("far_west")
def test_dates_become_seconds_that_are_the_same_everywhere(tmp_path):
    manifest = wildlife(write_wildlife(tmp_path))
    # `date -u -d '2021-05-03 14:07:11' +%s` and of 2021-05-04.
    assert manifest.columns["times"][:3].tolist() == [1620050831.0, 1620050831.0, 1620086400.0]
    assert np.isnan(manifest.columns["times"][3])
    assert any(
        note.startswith("1 images have no date") and "'some day in May'" in note
        for note in manifest.notes
    )


def test_unknown_animals_are_left_out_or_stay_in_the_gallery(tmp_path):
    assert "1 images of unknown identity left out" in wildlife(write_wildlife(tmp_path)).notes
    text = "identity,path,set\na,images/a.jpg,query\na,images/b.jpg,database\n"
    write_table(tmp_path, text + "unknown,images/c.jpg,gallery\n,images/c.jpg,train\n")
    assert wildlife(tmp_path, split="set").splits.tolist() == ["query", "gallery"]
    kept = wildlife(tmp_path, split="set", unknown="gallery")
    assert kept.pids.tolist() == ["a", "a", "unknown"]
    assert kept.splits.tolist() == ["query", "gallery", "gallery"]
    assert "1 images of unknown identity left out" in kept.notes


def test_a_column_gives_the_cameras(tmp_path):
    write_table(tmp_path, "identity;path;station\n007;images/a.jpg;A\n007;images\\b.jpg;B\n")
    manifest = wildlife(tmp_path, camera="station", title="mine")
    assert (manifest.name, manifest.has_cameras) == ("mine", True)
    assert manifest.pids.tolist() == ["007", "007"]
    assert manifest.camids.tolist() == ["A", "B"]
    assert manifest.paths.tolist() == ["images/a.jpg", "images/b.jpg"]


def test_names_of_one_individual_in_several_species_are_noted(tmp_path):
    write_table(tmp_path, "identity,path,species\n1,images/a.jpg,zebra\n1,images/b.jpg,giraffe\n")
    assert (
        wildlife(tmp_path)
        .notes[0]
        .startswith("1 identities are of several species, for example 1: giraffe, zebra")
    )


def test_other_splits_are_named_with_what_to_do(tmp_path):
    write_table(
        tmp_path, "identity,path,original_split\na,images/a.jpg,train\na,images/b.jpg,test\n"
    )
    with pytest.raises(DataError, match=r"holds 'test' \(1 images\); .*cut .* 'reid-data split'"):
        wildlife(tmp_path, split="original_split")
    assert len(wildlife(tmp_path)) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "identity,Path\na,images/a.jpg\n",
            r"has no column path; it has identity, Path; did you mean Path",
        ),
        ("identity,path\na,images/a.jpg\nb\n", r"line 3: 1 entries below 2 headings"),
        ("identity,path\n", r"holds no row below its headings"),
        ("path,path\na,b\n", r"has the column path twice"),
        ("identity,path\nunknown,images/a.jpg\n", r"all 1 images of .* are of unknown identity"),
        (
            "identity,path\na,/data/a.jpg\n",
            r"line 2: column path is '/data/a.jpg'; expected the im",
        ),
        ("identity,path,bbox\na,images/a.jpg,1 2 3\n", r"line 2: column bbox is '1 2 3'; expected"),
        ("identity,path,bbox\na,images/a.jpg,1 2 0 4\n", r"a box of some width and height"),
        ("identity,path,bbox\na,images/a.jpg,1 2 3 0\n", r"a box of some width and height"),
        ("identity,path,bbox\na,images/a.jpg,1 2 3 nan\n", r"a box of some width and height"),
        ("identity,path\na,photos/a.jpg\n", r"metadata.csv names photos/a.jpg.*which holds images"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        wildlife(write_table(tmp_path, text))


def test_a_photograph_of_several_animals_is_looked_for_once(tmp_path):
    write_wildlife(tmp_path)
    (tmp_path / "images" / "a.jpg").unlink()
    assert "1 of the 3 images of metadata.csv are missing" in wildlife(tmp_path).notes[-1]


def test_wrong_parameters_are_refused(tmp_path):
    write_wildlife(tmp_path)
    with pytest.raises(ConfigError, match=r"unknown is 'keep'; expected one of drop, gallery"):
        wildlife(tmp_path, unknown="keep")
    with pytest.raises(DataError, match=r"has no column stations; it has image_id, identity"):
        wildlife(tmp_path, camera="stations")
    with pytest.raises(DataError, match=r"lacks meta.csv; it holds images, metadata.csv"):
        wildlife(tmp_path, metadata="meta.csv")


def test_a_table_of_windows_is_read(tmp_path):
    write_wildlife(tmp_path)
    text = "identity,path\r\nÄsop,images\\a.jpg\r\n"
    (tmp_path / "metadata.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    manifest = wildlife(tmp_path)
    assert (manifest.pids.tolist(), manifest.paths.tolist()) == (["Äsop"], ["images/a.jpg"])
