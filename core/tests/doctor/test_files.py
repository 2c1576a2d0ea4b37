from dataclasses import replace

import numpy as np

from reid_core.data.manifest import Count, no_cameras
from reid_core.doctor.boxes import check_boxes
from reid_core.doctor.counts import check_counts
from reid_core.doctor.files import check_listed_twice, check_missing, listings_of


def missing(manifest, **options):
    return list(check_missing(manifest, listings_of(manifest), **options))


def test_files_that_are_not_there_are_told_with_what_is(make_set, make_table, tmp_path):
    make_set({"a/1.png": b"x", "a/2.PNG": b"x", "3.png": b"x"})
    (tmp_path / "a" / "4.png").mkdir()
    (tmp_path / "a" / "5.png").symlink_to("nowhere")
    names = ["3.png", "a/1.png", "a/2.png", "a/4.png", "a/5.png", "b/6.png"]
    manifest = make_table([(name, 1, 1, "train") for name in [*names, "b/6.png"]])
    (finding,) = missing(manifest)
    assert finding.severity == "error"
    assert finding.message == f"4 files of 6 are not there, below {tmp_path}/"
    assert finding.examples == (
        "a/2.png (there is 2.PNG)",
        "a/4.png (a folder)",
        "a/5.png (a link that leads nowhere)",
        "b/6.png",
    )
    (lenient,) = missing(manifest, severity="warning")
    assert lenient.severity == "warning"


def test_case_b021_paths_of_any_letters_are_found(make_set):
    name = "re id/数据 #1/Märket,1501/a b.png"
    assert missing(make_set({name: b"x"})) == []


def test_images_that_are_no_files_are_not_looked_for(make_table):
    class Store:
        def read(self, path):
            return b""

        def locate(self, path):
            return path

    assert missing(make_table([("a", 1, 1, "train")], store=Store())) == []


def test_a_file_that_is_listed_twice_is_told_by_what_it_mixes(make_table):
    manifest = make_table(
        [
            ("a.png", 1, 1, "train"),
            ("a.png", 2, 1, "train"),
            ("b.png", 3, 1, "query"),
            ("b.png", 3, 1, "gallery"),
            ("c.png", 4, 1, "train"),
            ("c.png", 4, 1, "train"),
            ("d.png", 5, 1, "train"),
        ]
    )
    found = {finding.code: finding.examples for finding in check_listed_twice(manifest)}
    assert found == {
        "file-with-two-identities": ("a.png (train, identity 1; train, identity 2)",),
        "file-in-two-splits": ("b.png (query, identity 3; gallery, identity 3)",),
        "file-listed-twice": ("c.png (train, identity 4; train, identity 4)",),
    }


def test_boxes_of_one_photograph_are_different_images(make_table):
    boxes = np.array([[0, 0, 4, 4], [4, 0, 4, 4], [4, 0, 4, 4]], dtype=float)
    rows = [("a.png", pid, 1, "train") for pid in (1, 2, 2)]
    (finding,) = check_listed_twice(make_table(rows, columns={"boxes": boxes}))
    assert (finding.code, finding.count) == ("file-listed-twice", 1)


def test_boxes_that_hold_nothing_are_errors(make_table):
    nan = np.nan
    boxes = np.array([[0, 0, 4, 4], [nan] * 4, [1, 1, 0, 4], [nan, 1, 2, 2]], dtype=float)
    rows = [(f"{i}.png", i, 1, "train") for i in range(4)]
    (finding,) = check_boxes(make_table(rows, columns={"boxes": boxes}))
    assert (finding.severity, finding.count) == ("error", 2)
    assert finding.examples[0] == "row 2: 2.png [1.0, 1.0, 0.0, 4.0]"


def test_case_b008_counts_of_a_known_set_are_compared(make_table):
    rows = [(f"{i}.png", i % 7, 1, "train") for i in range(99)]
    manifest = make_table(rows, expected={"train": Count(100, 7), "query": Count(10, 5)})
    (finding,) = check_counts(manifest)
    assert finding.severity == "warning"
    assert finding.message == (
        "this is not the set as published: train 99 images, published 100; query 0 images, "
        "published 10; query 0 identities, published 5"
    )
    (part,) = check_counts(manifest, is_whole=False)
    assert part.message.endswith("train 99 images, published 100")


def test_other_data_in_the_layout_of_a_known_set_are_not_compared(make_table):
    rows = [(f"{i}.png", i % 7, 1, "train") for i in range(50)]
    assert list(check_counts(make_table(rows, expected={"train": Count(100, 7)}))) == []


def test_a_query_that_the_gallery_lists_for_its_own_camera_is_worth_knowing_and_no_warning(
    make_table,
):
    rows = [
        ("a.png", 1, 1, "query"), ("a.png", 1, 1, "gallery"),
        ("b.png", 2, 1, "query"), ("b.png", 2, 2, "gallery"),
        ("c.png", 3, 1, "train"), ("c.png", 3, 1, "gallery"),
    ]  # fmt: skip
    found = [(one.severity, one.code, one.count) for one in check_listed_twice(make_table(rows))]
    assert found == [("warning", "file-in-two-splits", 2), ("info", "file-in-two-splits", 1)]
    blind = replace(make_table(rows[:2]), has_cameras=False, camids=no_cameras(2))
    assert [one.severity for one in check_listed_twice(blind)] == ["warning"]
