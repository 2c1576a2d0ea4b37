"""B020 stray files, B021 odd paths, and messages of what is not found."""

import re

import pytest

from reid_core.errors import DataError
from reid_plugin_datasets.folders import find_folder, folders_in, images_in, matching

NAME = re.compile(r"(\d+)_c(\d)")


def touch(folder, *names):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def found(matches):
    return [(path, *match.groups()) for path, match in matches.found]


def match(folder, **options):
    return matching(folder, NAME, dataset="mine", example="1_c2.jpg", **options)


def test_names_that_fit_are_listed_in_their_order(tmp_path):
    touch(tmp_path, "b/7_c1.PNG", "b/10_c2.jpg", "b/3_c1.bmp", "b/3_c1.webp", "b/other.jpg")
    matches = match(tmp_path, inside="b")
    assert found(matches) == [
        ("b/10_c2.jpg", "10", "2"),
        ("b/3_c1.bmp", "3", "1"),
        ("b/3_c1.webp", "3", "1"),
        ("b/7_c1.PNG", "7", "1"),
    ]
    assert matches.misnamed == ["b/other.jpg"]
    assert matches.stray == 0


def test_b020_what_systems_leave_behind_is_no_image(tmp_path):
    touch(tmp_path, "1_c1.jpg", "._1_c1.jpg", "Thumbs.db", ".DS_Store", "desktop.ini")
    touch(tmp_path, "2_c1.jpg/3_c1.jpg", ".hidden/4_c1.jpg", "folder/5_c1.jpg")
    matches = match(tmp_path)
    assert found(matches) == [("1_c1.jpg", "1", "1")]
    assert (matches.misnamed, matches.stray) == ([], 7)
    assert images_in(tmp_path) == ["1_c1.jpg"]
    assert folders_in(tmp_path) == ["2_c1.jpg", "folder"]


def test_a_recursive_search_matches_the_path_below_the_folder(tmp_path):
    touch(tmp_path, "in/7/7_c1.jpg", "in/2/deep/2_c2.jpg", "in/1_c1.jpg", "in/.x/1_c1.jpg")
    pattern = re.compile(r"(\d+)/(?:deep/)?\d+_c(\d)")
    matches = matching(
        tmp_path, pattern, dataset="mine", example="7/7_c1.jpg", inside="in", recursive=True
    )
    assert found(matches) == [("in/2/deep/2_c2.jpg", "2", "2"), ("in/7/7_c1.jpg", "7", "1")]
    assert (matches.misnamed, matches.stray) == (["in/1_c1.jpg"], 1)


def test_links_to_folders_are_followed_but_not_in_a_circle(tmp_path):
    touch(tmp_path, "disk/7/7_c1.jpg")
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "people").symlink_to(tmp_path / "disk", target_is_directory=True)
    for name, target in (("circle", "set"), ("self", "disk"), ("all", ".")):
        link = tmp_path / "disk" / name
        link.symlink_to((tmp_path / target).resolve(), target_is_directory=True)
    matches = matching(
        tmp_path / "set", re.compile(".*"), dataset="mine", example="a", recursive=True
    )
    assert [path for path, _ in matches.found] == ["people/7/7_c1.jpg"]
    assert matches.stray == 3


def test_b021_odd_paths_are_paths(tmp_path):
    odd = tmp_path / "re id" / "数据 #1" / "Märket,1501"
    touch(odd, "query/1_c2.jpg")
    assert (
        find_folder(odd.parent, dataset="mine", nested=("Märket,1501",), expected=("query",)) == odd
    )
    assert found(match(odd, inside="query")) == [("query/1_c2.jpg", "1", "2")]


def test_no_name_that_fits_is_an_error_where_one_is_required(tmp_path):
    touch(tmp_path, *(f"{name}.jpg" for name in "dcba"))
    assert match(tmp_path).misnamed == ["a.jpg", "b.jpg", "c.jpg", "d.jpg"]
    with pytest.raises(DataError) as caught:
        match(tmp_path, required=True)
    assert str(caught.value) == (
        f"data set mine: no usable image in {tmp_path}; names that do not fit: a.jpg, b.jpg, "
        "c.jpg; expected names like 1_c2.jpg, with a suffix of .bmp, .jpeg, .jpg, .png, .tif, "
        ".tiff, .webp"
    )


@pytest.mark.parametrize(
    ("names", "seen"),
    [([], "found no image"), (["0002/a.jpg"], "found folders, 0002, but no image that is read")],
)
def test_what_is_there_instead_is_told(names, seen, tmp_path):
    touch(tmp_path, *names)
    with pytest.raises(DataError, match=seen):
        match(tmp_path, required=True)


def test_a_missing_folder_names_the_nearest_and_what_was_meant(tmp_path):
    touch(tmp_path, "VIPeR/cam_a/1.bmp")
    with pytest.raises(DataError) as caught:
        find_folder(tmp_path / "Viper" / "x", dataset="viper", nested=(), expected=("cam_a",))
    assert str(caught.value) == (
        f"data set viper: there is no folder {tmp_path}/Viper/x (the nearest that exists is "
        f"{tmp_path}, which holds VIPeR); did you mean VIPeR?; set root to the folder that holds "
        "cam_a"
    )
    with pytest.raises(DataError, match=r"no folder .*cam_b .*nearest .*VIPeR, which holds cam_a"):
        match(tmp_path, inside="VIPeR/cam_b")


def test_a_missing_relative_folder_says_where_it_was_looked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        DataError, match=f"no folder sets/x, nor one under REID_DATASETS .*{tmp_path}"
    ):
        find_folder("sets/x", dataset="mine", nested=(), expected=("a",))


def test_a_folder_that_lacks_something_says_what_it_holds(tmp_path):
    touch(tmp_path, "set/cam_a/1.bmp", "set/readme.txt")
    with pytest.raises(DataError) as caught:
        find_folder(tmp_path, dataset="viper", nested=("set",), expected=("cam_a", "cam_b"))
    assert str(caught.value) == (
        f"data set viper: {tmp_path}/set lacks cam_b; it holds cam_a, readme.txt; set root to the "
        "folder that holds cam_a, cam_b"
    )


@pytest.mark.parametrize("root", ["set/cam_a", "other", "deep"])
def test_the_folder_above_beside_or_below_is_named_if_it_holds_all(root, tmp_path):
    holder = "deep/below" if root == "deep" else "set"
    touch(tmp_path, f"{holder}/cam_a/1.bmp", f"{holder}/cam_b/1.bmp", "other/notes.txt")
    with pytest.raises(DataError, match=rf"; {tmp_path}/{holder} holds them; set root to"):
        find_folder(tmp_path / root, dataset="viper", nested=("set",), expected=("cam_a", "cam_b"))
