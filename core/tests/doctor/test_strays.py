import numpy as np

from reid_core.data.manifest import Count
from reid_core.doctor.files import listings_of
from reid_core.doctor.strays import check_strays


def strays(manifest):
    found = check_strays(manifest, listings_of(manifest))
    return {finding.code: finding for finding in found}


def examples(manifest):
    return {code: finding.examples for code, finding in strays(manifest).items()}


def rows(*names):
    return [(name, number, 1, name.partition("/")[0]) for number, name in enumerate(names)]


READ = ("train/1.png", "train/2.png", "gallery/3.png")


def test_what_is_not_read_is_sorted(make_set, tmp_path):
    more = ("train/IMG_1.png", "train/x.tif", "train/notes.txt", "train/._1.png", "train/Thumbs.db")
    manifest = make_set(dict.fromkeys((*READ, *more), b"x"), rows(*READ))
    (tmp_path / "train" / "x.jpg").mkdir()
    (tmp_path / "train" / "lost").mkdir()
    assert examples(manifest) == {
        "images-not-read": ("train/IMG_1.png", "train/x.tif"),
        "stray-files": ("train/notes.txt", "train/x.jpg/ (a folder)"),
        "empty-folders": ("train/lost/",),
        "system-files": ("train/._1.png", "train/Thumbs.db"),
    }
    assert strays(manifest)["system-files"].severity == "info"


def test_junk_is_told_where_it_does_not_belong(make_set):
    junk = ("train/-1_c1s1.png", "train/0000_c2s1.png", "gallery/-1_c1s1.png")
    manifest = make_set(dict.fromkeys((*READ, *junk), b"x"), rows(*READ))
    assert examples(manifest) == {"junk-not-read": junk[:2]}


def test_images_in_folders_below_are_told(make_set):
    manifest = make_set(dict.fromkeys((*READ, "train/a/b/4.png"), b"x"), rows(*READ))
    assert examples(manifest) == {"images-not-read": ("train/a/b/4.png",)}


def test_folders_beside_those_of_the_images_are_left_alone(make_set, tmp_path):
    manifest = make_set(dict.fromkeys((*READ, "gt_bbox/9.png", "x.txt"), b"x"), rows(*READ))
    assert examples(manifest) == {}
    (tmp_path / "validation").mkdir()
    assert examples(manifest) == {"empty-folders": ("validation/",)}


def test_a_table_may_name_a_small_part_of_the_images(make_set):
    files = {f"{number}.png": b"x" for number in range(10)}
    manifest = make_set(files, [(name, 1, 1, "train") for name in list(files)[:4]])
    assert strays(manifest)["images-not-read"].severity == "info"
    most = make_set(files, [(name, 1, 1, "train") for name in list(files)[:9]])
    assert strays(most)["images-not-read"].severity == "warning"


def test_images_that_a_set_leaves_out_by_design_are_information(make_set):
    names = ("train/1.png", "train/2.png", "train/3.png", "train/IMG_4.png")
    manifest = make_set(dict.fromkeys(names, b"x"), rows(*names[:2]), notes=("split 0 of 0 to 9",))
    found = list(check_strays(manifest, listings_of(manifest)))
    assert [(one.code, one.severity, one.examples) for one in found] == [
        ("images-not-read", "warning", ("train/IMG_4.png",)),
        ("images-not-read", "info", ("train/3.png",)),
    ]
    assert "named like the others" in found[1].message


def test_frames_without_boxes_and_lists_of_benchmarks_are_as_they_should_be(make_set):
    files = {f"{number}.png": b"x" for number in range(3)}
    listed = [(name, 1, 1, "train") for name in list(files)[:2]]
    assert list(examples(make_set(files, listed))) == ["images-not-read"]
    boxes = {"boxes": np.full((2, 4), np.nan)}
    assert examples(make_set(files, listed, columns=boxes)) == {}
    assert examples(make_set(files, listed, expected={"train": Count(2, 1)})) == {}


def test_tables_beside_the_images_are_no_strays_and_deeper_ones_are(make_set):
    table = [("1.png", 1, 1, "train"), ("a/2.png", 2, 1, "train")]
    files = dict.fromkeys(("1.png", "a/2.png", "mine.csv", "all.JSON", "read.txt", "a/x.csv"), b"x")
    assert examples(make_set(files, table)) == {"stray-files": ("read.txt", "a/x.csv")}
