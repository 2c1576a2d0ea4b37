from dataclasses import replace

import numpy as np

from reid_core.doctor.shared_files import check_shared_files

TRAIN = [(f"{number}.png", number, 1, "train") for number in range(4)]
TEST = [("2.png", 1, 1, "query"), ("3.png", 1, 2, "gallery"), ("9.png", 2, 1, "gallery")]


def test_files_that_one_set_trains_on_and_another_one_tests_are_found(make_table, tmp_path):
    train = replace(make_table(TRAIN), name="a")
    test = replace(make_table([(f"x/../{path}", *rest) for path, *rest in TEST]), name="b")
    (found,) = check_shared_files([train, train, test])
    assert (found.code, found.severity, found.dataset) == ("files-in-two-sets", "warning", "b")
    assert found.message.startswith("2 images of the test are trained on in set a, which makes")
    assert found.examples == (str(tmp_path / "2.png"), str(tmp_path / "3.png"))


def test_links_lead_to_the_same_files(make_set, tmp_path):
    train = replace(make_set({f"p/{row[0]}": b"x" for row in TRAIN}), name="a")
    (tmp_path / "q").symlink_to(tmp_path / "p")
    test = replace(make_set({}, [("q/2.png", 1, 1, "query")]), name="b")
    (found,) = check_shared_files([train, test])
    assert found.examples == (str(tmp_path / "p" / "2.png"),)


def test_parts_of_one_set_are_looked_at_elsewhere(make_table):
    assert list(check_shared_files([make_table(TRAIN), make_table(TEST)])) == []


def test_two_sets_may_train_on_one_file_and_test_one_file(make_table):
    a, b = (replace(make_table(TRAIN), name=name) for name in "ab")
    assert list(check_shared_files([a, b])) == []
    c, d = (replace(make_table(TEST), name=name) for name in "cd")
    assert list(check_shared_files([c, d])) == []


def test_other_boxes_of_one_photograph_are_other_images(make_table):
    boxes = np.array([[0, 0, 5, 5], [5, 0, 5, 5]], dtype=float)
    train = [("1.png", 1, 1, "train"), ("2.png", 2, 1, "train")]
    test = [("1.png", 1, 1, "query"), ("2.png", 2, 1, "query")]
    a = replace(make_table(train, columns={"boxes": boxes}), name="a")
    b = replace(make_table(test, columns={"boxes": boxes[[0, 0]]}), name="b")
    (found,) = check_shared_files([a, b])
    assert found.count == 1
