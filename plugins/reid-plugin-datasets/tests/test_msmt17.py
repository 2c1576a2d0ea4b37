import pytest

from reid_core.errors import ConfigError, DataError
from reid_plugin_datasets.msmt17 import msmt17
from reid_plugin_datasets.testing import write_msmt17


@pytest.mark.parametrize("version", ["V1", "V2"])
def test_lists_become_rows_in_their_order(tmp_path, version):
    manifest = msmt17(write_msmt17(tmp_path, version), version=version)
    assert manifest.splits.tolist() == ["train"] * 4 + ["query"] * 2 + ["gallery"] * 3
    assert manifest.camids.tolist() == [1, 5, 15, 3, 1, 2, 2, 1, 3]
    # The three training identities are 0 to 2, those of the test follow.
    assert manifest.pids.tolist() == [0, 0, 1, 2, 3, 4, 3, 4, 4]
    assert all((manifest.root / path).is_file() for path in manifest.paths)


def test_validation_can_be_left_out(tmp_path):
    manifest = msmt17(write_msmt17(tmp_path), validation="out")
    assert manifest.select("train").pids.tolist() == [0, 0, 1]


def test_the_folder_itself_may_be_named(tmp_path):
    write_msmt17(tmp_path)
    assert len(msmt17(tmp_path / "MSMT17_V1")) == 9


def test_what_is_missing_is_named(tmp_path):
    write_msmt17(tmp_path)
    (tmp_path / "MSMT17_V1" / "list_query.txt").unlink()
    with pytest.raises(DataError, match=r"MSMT17_V1 lacks list_query.txt; it holds list_gallery"):
        msmt17(tmp_path)
    with pytest.raises(DataError, match=r"no folder .*nowhere.*nearest that exists"):
        msmt17(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0000/0000_000.jpg 0\n", "third part is the camera"),
        ("0000/0000_000_01_a.jpg zero\n", "line 1: .* is not an image and a number"),
        ("0000/0000_000_01_a.jpg\n", "line 1: .* is not an image and a number"),
        ("", "holds no line"),
    ],
)
def test_a_line_that_is_none_is_refused(tmp_path, line, message):
    write_msmt17(tmp_path)
    (tmp_path / "MSMT17_V1" / "list_train.txt").write_text(line)
    with pytest.raises(DataError, match=message):
        msmt17(tmp_path)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"version": "V3"}, "version is 'V3'; expected V1 or V2"),
        ({"validation": "yes"}, "validation is 'yes'; expected train or out"),
    ],
)
def test_wrong_parameters_are_refused(tmp_path, parameters, message):
    with pytest.raises(ConfigError, match=message):
        msmt17(tmp_path, **parameters)


def test_the_other_version_is_recognised(tmp_path):
    write_msmt17(tmp_path, "V2")
    with pytest.raises(DataError, match=r"MSMT17_V2 holds version V2.*set version: V2"):
        msmt17(tmp_path / "MSMT17_V2")


def test_lists_from_windows_are_read(tmp_path):
    expected = msmt17(write_msmt17(tmp_path)).paths.tolist()
    for path in (tmp_path / "MSMT17_V1").glob("list_*.txt"):
        text = path.read_text().replace("/", "\\").replace("\n", "\r\n")
        path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert msmt17(tmp_path).paths.tolist() == expected


def test_images_that_the_lists_name_and_that_are_missing_are_noted(tmp_path):
    folder = write_msmt17(tmp_path) / "MSMT17_V1"
    (folder / "train" / "0000" / "0000_001_05_0303morning_0015_0.jpg").unlink()
    notes = msmt17(tmp_path).notes
    assert notes[2:] == (
        "1 of the 3 images of list_train.txt are missing, for example "
        "train/0000/0000_001_05_0303morning_0015_0.jpg; 'reid-data check' lists them",
    )


def test_a_list_of_which_nothing_is_there_is_refused(tmp_path):
    folder = write_msmt17(tmp_path) / "MSMT17_V1"
    (folder / "test").rename(folder / "old")
    (folder / "test" / "sub").mkdir(parents=True)
    with pytest.raises(
        DataError,
        match=r"list_query.txt names test/0000/0000_000_01_.*no such file in .*MSMT17_V1; the "
        r"nearest folder that exists is .*test, which holds sub; put the images where",
    ):
        msmt17(tmp_path)


@pytest.mark.parametrize(("validation", "images"), [("train", 32621), ("out", 30248)])
def test_published_counts_are_expected(tmp_path, validation, images):
    expected = msmt17(write_msmt17(tmp_path), validation=validation).expected
    assert expected == {"train": (images, 1041), "query": (11659, 3060), "gallery": (82161, 3060)}
