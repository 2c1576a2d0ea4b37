import numpy as np
import pytest

from reid_core.errors import ConfigError, DataError
from reid_plugin_datasets.testing.vehicles import write_veri_wild
from reid_plugin_datasets.veri_wild import veri_wild


@pytest.fixture
def lists(tmp_path):
    return write_veri_wild(tmp_path) / "VERI-Wild" / "train_test_split"


def test_lists_give_the_images_and_the_table_gives_cameras_and_times(tmp_path, lists):
    manifest = veri_wild(tmp_path)
    assert manifest.splits.tolist() == ["train"] * 3 + ["query"] * 2 + ["gallery"] * 4
    assert manifest.pids.tolist() == [1, 1, 2, 3, 4, 3, 3, 4, 4]
    assert manifest.camids.tolist() == [101, 102, 103, 104, 105, 106, 107, 108, 109]
    assert manifest.paths[0] == "images/00001/000001.jpg"
    # `date -u -d '2018-03-11 06:52:00' +%s` is 1520751120.
    assert manifest.columns["times"].tolist() == [1520751120.0 + n for n in range(1, 10)]
    assert manifest.columns["times"].dtype == np.float64


@pytest.mark.parametrize(
    ("size", "number", "gallery"),
    [("small", 3000, 38861), ("medium", 5000, 64389), ("large", 10000, 128517)],
)
def test_a_size_names_its_lists_and_counts(tmp_path, lists, size, number, gallery):
    (lists / f"test_{number}.txt").write_text("00004/000009\n")
    (lists / f"test_{number}_query.txt").write_text("00004/000005\n")
    manifest = veri_wild(tmp_path, size=size)
    assert manifest.select("gallery").paths.tolist() == ["images/00004/000009.jpg"]
    assert manifest.expected == {
        "train": (277797, 30671),
        "query": (number, number),
        "gallery": (gallery, number),
    }


def test_lists_with_suffixes_further_words_and_marks_of_windows_are_read(tmp_path, lists):
    expected = veri_wild(tmp_path).paths.tolist()
    for path in lists.glob("t*.txt"):
        text = "".join(f"{line}.jpg 7\r\n" for line in path.read_text().split())
        path.write_bytes(b"\xef\xbb\xbf" + text.replace("/", "\\").encode())
    assert veri_wild(tmp_path).paths.tolist() == expected


def test_names_of_models_may_be_in_another_encoding(tmp_path, lists):
    expected = veri_wild(tmp_path)
    info = lists / "vehicle_info.txt"
    info.write_bytes(info.read_text().replace("Audi A4", "奥迪").encode("gb18030"))
    manifest = veri_wild(tmp_path)
    assert manifest.camids.tolist() == expected.camids.tolist()
    assert manifest.columns["times"].tolist() == expected.columns["times"].tolist()


@pytest.mark.parametrize("time", ["noon", ""])
def test_times_that_cannot_be_read_are_left_out_with_a_note(tmp_path, lists, time):
    info = lists / "vehicle_info.txt"
    info.write_text(info.read_text().replace("2018-03-11 06:52:03", time))
    manifest = veri_wild(tmp_path)
    assert "times" not in manifest.columns
    assert manifest.notes[1] == (
        f"times left out: {time!r} in vehicle_info.txt is not like 2018-03-11 06:52:04"
    )


def test_an_image_without_a_camera_is_named(tmp_path, lists):
    (lists / "test_3000.txt").write_text("00003/000006\n00003/000099\n")
    with pytest.raises(
        DataError, match=r"1 of the 2 images of .*test_3000.txt are not in vehicle_info.txt.*000099"
    ):
        veri_wild(tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("train_list.txt", "\n", r"train_list.txt holds no line"),
        ("train_list.txt", "000001.jpg\n", r"names 000001; expected a vehicle and an image"),
        ("vehicle_info.txt", "id;cam;time\n", r"holds no image below its headings"),
        ("vehicle_info.txt", "id;cam;time\n00001/000001\n", r"line 2: '00001/000001' has no cam"),
        ("train_list.txt", "\xff", r"train_list.txt cannot be read"),
        ("vehicle_info.txt", "\xff", r"holds no image below its headings"),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path, lists, name, text, message):
    (lists / name).write_text(text, encoding="latin-1")
    with pytest.raises(DataError, match=message):
        veri_wild(tmp_path)


def test_a_missing_list_and_missing_images_are_named(tmp_path, lists):
    (lists.parent / "images" / "00001" / "000002.jpg").unlink()
    assert "1 of the 3 images of train_list.txt are missing" in veri_wild(tmp_path).notes[1]
    (lists / "test_3000_query.txt").unlink()
    with pytest.raises(DataError, match=r"VERI-Wild lacks train_test_split/test_3000_query.txt"):
        veri_wild(tmp_path)
    with pytest.raises(ConfigError, match=r"size is 'huge'; expected small, medium or large"):
        veri_wild(tmp_path, size="huge")
