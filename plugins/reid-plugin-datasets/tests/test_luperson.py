import numpy as np
import pytest

from reid_core.errors import ConfigError, DataError
from reid_plugin_datasets.luperson import luperson
from reid_plugin_datasets.testing.images import write_image
from reid_plugin_datasets.testing.occluded import write_luperson

NAMES = ["video_2/0001.jpg", "video_2/0002.jpg", "video_1/a b, c.jpg"]


@pytest.fixture
def root(tmp_path):
    return write_luperson(tmp_path)


def test_a_line_is_an_image_and_each_image_an_identity(root):
    manifest = luperson(root, ["images.txt"])
    assert manifest.paths.tolist() == NAMES
    assert manifest.pids.tolist() == [0, 1, 2]
    assert set(manifest.splits.tolist()) == {"train"}
    assert not manifest.has_cameras
    assert "every image counts as one" in manifest.notes[0]


def test_folders_are_numbered_in_sorted_order(root):
    manifest = luperson(root, ["images.txt"], identity="folder")
    assert manifest.pids.tolist() == [1, 1, 0]


@pytest.mark.parametrize("separator", [",", "\t", " ", ", "])
def test_the_number_at_the_end_of_a_line_is_the_identity(root, separator):
    lines = [f"{name}{separator}{n}\n" for name, n in zip(NAMES, (5, 3, 5), strict=True)]
    (root / "mine.txt").write_text("".join(lines))
    manifest = luperson(root, ["mine.txt"], identity="list")
    assert manifest.pids.tolist() == [5, 3, 5]
    assert manifest.paths.tolist() == NAMES


def test_several_lists_follow_one_another(root):
    write_image(root / "other" / "1.jpg")
    (root / "more.txt").write_text("other/1.jpg\n")
    manifest = luperson(root, ["more.txt", "images.txt"], identity="folder", title="mine")
    assert manifest.paths.tolist() == ["other/1.jpg", *NAMES]
    assert manifest.pids.tolist() == [0, 2, 2, 1]
    assert manifest.name == "mine"


def test_a_single_list_needs_no_brackets(root):
    assert luperson(root, "images.txt").paths.tolist() == NAMES


def test_a_list_longer_than_a_chunk_is_read_whole(root):
    count = 70_000  # more than are held as lines at once
    lines = ["video_2/0001.jpg,7", *(f"v{n % 3}/{n}.jpg,{n}" for n in range(1, count))]
    (root / "long.txt").write_text("\n".join(lines))
    manifest = luperson(root, ["long.txt"], identity="list")
    assert len(manifest) == count
    assert manifest.pids.tolist() == [7, *range(1, count)]
    assert manifest.paths[count - 1] == f"v{(count - 1) % 3}/{count - 1}.jpg"


def test_a_list_made_on_windows_is_read(root):
    (root / "windows.txt").write_bytes("\ufeffvideo_2\\0001.jpg,4\r\n\r\n".encode())
    manifest = luperson(root, ["windows.txt"], identity="list")
    assert (manifest.paths.tolist(), manifest.pids.tolist()) == (["video_2/0001.jpg"], [4])


def test_a_line_without_its_number_is_named(root):
    (root / "labelled.csv").write_text("video_2/0001.jpg,5\npath,pid\n")
    with pytest.raises(DataError, match=r"labelled.csv, line 2: 'path,pid' does not end in a num"):
        luperson(root, ["labelled.csv"], identity="list")


def test_a_wrong_root_is_noticed_at_the_first_image(root, tmp_path_factory):
    with pytest.raises(DataError, match=r"no file .*0001.jpg, the first image of .*images"):
        luperson(tmp_path_factory.mktemp("empty"), [str(root / "images.txt")])


def test_a_root_that_is_not_there_is_named_with_the_nearest(tmp_path):
    with pytest.raises(DataError, match=r"no folder .*LUP .*the nearest that exists is "):
        luperson(tmp_path / "LUP", ["images.txt"])


def test_numbers_at_the_end_are_not_taken_for_part_of_the_name(root):
    with pytest.raises(DataError, match=r"0001.jpg,5.*or identity to list if each line ends in"):
        luperson(root, ["labelled.csv"])


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_an_empty_list_is_refused(root, text):
    (root / "empty.txt").write_text(text)
    with pytest.raises(DataError, match=r"empty.txt holds no line"):
        luperson(root, ["empty.txt"])


def test_a_list_that_is_not_there_is_named(root):
    with pytest.raises(DataError, match=r"the list .*lup.txt cannot be read"):
        luperson(root, ["lup.txt"])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"lists": []}, "lists is empty"),
        ({"identity": "person"}, "identity is 'person'; expected image, folder or list"),
    ],
)
def test_wrong_parameters_are_refused(root, parameters, message):
    with pytest.raises(ConfigError, match=message):
        luperson(root, **{"lists": ["images.txt"], **parameters})


def test_columns_are_arrays_of_the_size_of_their_letters(root):
    manifest = luperson(root, ["images.txt"])
    assert manifest.paths.dtype == np.dtypes.StringDType()
    assert manifest.pids.dtype == np.int64
