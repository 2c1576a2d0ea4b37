import logging
from dataclasses import replace

import numpy as np
import pytest

from reid_core.data.manifest import Count
from reid_core.doctor.quick import check_before_run, quick
from reid_core.errors import DataError


def rows(split="train", number=4):
    return [(f"{split}/{i}.png", i // 2, i % 2, split) for i in range(number)]


def files(*parts):
    return {row[0]: b"x" for part in parts for row in part}


def run(*manifests, uses_cameras=True, skips_broken=False):
    check_before_run(manifests, uses_cameras=uses_cameras, skips_broken=skips_broken)


def test_sound_data_give_no_line(make_set, caplog):
    caplog.set_level(logging.INFO, logger="reid_core")
    train, test = rows(), rows("query") + rows("gallery")
    run(make_set(files(train), train), make_set(files(test), test))
    assert caplog.text == ""


def test_missing_files_stop_the_run_before_it_begins(make_table):
    with pytest.raises(DataError) as caught:
        run(make_table(rows(number=6)))
    message = str(caught.value)
    assert message.startswith("data set zoo: 6 files of 6 are not there, below ")
    assert "(train/0.png, train/1.png, train/2.png and 3 more); check root" in message
    assert caught.value.exit_code == 3


def test_with_skip_missing_files_are_a_warning(make_table, caplog):
    run(make_table(rows()), skips_broken=True)
    assert "4 files of 4 are not there" in caplog.text
    assert caplog.records[0].levelno == logging.WARNING


def test_all_errors_are_said_at_once(make_table):
    test = [("a.png", 1, 0, "query"), ("b.png", 1, 0, "gallery")]
    with pytest.raises(DataError, match="not there") as caught:
        run(make_table(rows()), make_table(test))
    assert len(str(caught.value).splitlines()) == 3


def test_case_b038_a_test_without_cross_camera_matches_stops_the_run(make_set):
    test = [("a.png", 1, 0, "query"), ("b.png", 1, 0, "gallery")]
    manifest = make_set(files(test), test)
    with pytest.raises(DataError, match="0 of 1 queries have a cross-camera match"):
        run(manifest)
    run(manifest, uses_cameras=False)


def test_case_b039_without_cameras_it_does_not(make_set):
    test = [("a.png", 1, 0, "query"), ("b.png", 1, 0, "gallery")]
    run(make_set(files(test), test, has_cameras=False))


def test_warnings_are_logged_with_examples_and_the_run_goes_on(make_set, caplog):
    caplog.set_level(logging.INFO, logger="reid_core")
    train = [("a.png", "Anna", 0, "train"), ("b.png", "anna", 0, "train")]
    run(make_set(files(train), train))
    warning, pointer = caplog.records
    assert warning.levelno == logging.WARNING
    assert warning.getMessage().startswith(
        "data set zoo: 1 identity may be spelled in several ways"
    )
    assert "('Anna' = 'anna')" in warning.getMessage()
    assert pointer.getMessage() == "'reid-data check' says more, and looks at the images"


def test_case_b008_counts_are_compared_for_the_splits_of_the_run(make_set):
    train = rows(number=20)
    manifest = make_set(
        files(train), train, expected={"train": Count(21, 10), "query": Count(5, 5)}
    )
    (finding,) = quick([manifest], uses_cameras=True, skips_broken=False)
    assert finding.message.endswith("train 20 images, published 21")


def test_what_evaluation_and_sets_say_themselves_is_left_to_them(make_set):
    test = [*rows("query"), *rows("gallery")]
    test[0] = ("query/0.png", 99, 0, "query")
    train = [("train/0.png", 0, 0, "train"), ("train/1.png", 0, 1, "train")]
    manifest = make_set(files(test, train), [*train, *test])
    assert quick([manifest], uses_cameras=True, skips_broken=False) == []


def test_a_test_on_the_files_of_another_training_set_is_told(make_set, caplog):
    train = rows(number=8)
    test = [("train/0.png", 1, 0, "query"), ("train/1.png", 1, 1, "gallery")]
    run(make_set(files(train), train), replace(make_set({}, test), name="farm"))
    (record,) = caplog.records
    assert record.getMessage().startswith(
        "data set farm: 2 images of the test are trained on in set zoo"
    )


def test_bad_boxes_are_errors(make_set):
    train = rows()
    boxes = np.array([[0, 0, 0, 5]] * 4, dtype=float)
    manifest = make_set(files(train), train, columns={"boxes": boxes})
    with pytest.raises(DataError, match="4 boxes are empty or incomplete"):
        run(manifest)
