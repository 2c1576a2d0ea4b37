import numpy as np
import pytest

from reid_core.data.manifest import Count
from reid_core.doctor.identities import (
    check_gaps,
    check_junk,
    check_overlap,
    check_spelling,
    check_training,
    check_written_numbers,
)


def train(pids, camids=None, split="train"):
    camids = camids or [1 + number % 2 for number in range(len(pids))]
    return [
        (f"{number}.png", pid, camid, split)
        for number, (pid, camid) in enumerate(zip(pids, camids, strict=True))
    ]


def codes(findings):
    return [finding.code for finding in findings]


def test_spellings_that_differ_in_case_zeros_or_blanks_are_told(make_table):
    pids = ["7", "07", "Anna", "anna", " ben", "ben", "Carl", "10"]
    (finding,) = check_spelling(make_table(train(pids)))
    assert finding.code == "identity-spelled-twice"
    assert finding.count == 3
    assert finding.examples == ("' ben' = 'ben'", "'07' = '7'", "'Anna' = 'anna'")


def test_cameras_that_are_spelled_twice_are_told(make_table):
    (finding,) = check_spelling(make_table(train(["a", "b"], ["Gate", "gate "])))
    assert finding.code == "camera-spelled-twice"


def test_an_identity_nobody_wrote_is_told_with_its_images(make_table):
    (finding,) = check_spelling(make_table(train(["a", "nan", "nan"])))
    assert (finding.code, finding.count) == ("blank-identity", 2)
    assert finding.examples == ("1.png", "2.png")
    assert finding.message == "2 images have 'nan' as identity, and are taken for one and the same"


def test_integers_have_one_spelling(make_table):
    assert list(check_spelling(make_table(train([7, 70, 700])))) == []


def test_numbers_that_names_write_in_several_ways_are_told(make_table):
    rows = [("q/7_c1.png", 7, 1, "train"), ("q/0007_c1.png", 7, 1, "train")]
    rows += [("q/0008_c1.png", 8, 1, "train"), ("q/img_7.png", 9, 1, "train")]
    (finding,) = check_written_numbers(make_table(rows))
    assert finding.examples == ("q/7_c1.png = q/0007_c1.png",)


def test_junk_and_distractors_are_told_outside_of_the_gallery(make_table):
    rows = train([-1, 0, 5]) + train([-1, 0, 6], split="gallery") + train([0, 6], split="query")
    manifest = make_table(rows, distractors=(0,))
    assert [(f.code, f.count) for f in check_junk(manifest)] == [
        ("junk-in-train", 2),
        ("junk-in-query", 1),
    ]
    assert [(f.code, f.count) for f in check_junk(make_table(rows))] == [("junk-in-train", 1)]


def test_identities_with_one_image_or_one_camera_are_told_once(make_table):
    manifest = make_table(train([1, 1, 2, 3, 3, 3], [1, 2, 1, 2, 2, 2]))
    single, camera = check_training(manifest)
    assert (single.code, single.examples) == ("single-image-identities", ("2",))
    assert (camera.code, camera.examples) == ("single-camera-identities", ("3",))


def test_with_one_camera_alone_nobody_can_be_seen_by_two(make_table):
    assert list(check_training(make_table(train([1, 1, 2, 2], [4, 4, 4, 4])))) == []


def test_one_identity_leaves_nothing_to_learn(make_table):
    (finding,) = check_training(make_table(train(["dog", "dog"])))
    assert (finding.code, finding.severity) == ("one-training-identity", "error")
    assert "all 2 training images show identity dog" in finding.message


def test_an_identity_with_most_of_the_images_is_told(make_table):
    manifest = make_table(train([1] * 60 + [2] * 4 + [3] * 4))
    (finding,) = check_training(manifest)
    assert (finding.code, finding.examples) == ("identity-imbalance", ("1 (60 images)",))


def test_case_b005_identities_of_training_and_test_are_counted(make_table):
    rows = [*train([1, 2, 3]), ("x/3.png", 3, 1, "gallery"), ("x/4.png", 4, 1, "gallery")]
    (finding,) = check_overlap(make_table(rows))
    assert (finding.severity, finding.count) == ("warning", 1)
    assert finding.message.startswith("1 identity is both in training and in query or gallery")
    assert finding.examples == ("3 (x/3.png)",)


def gapped(missing, offset=0, number=100):
    return [pid + offset for pid in range(1, number + 1) if pid not in missing]


def test_missing_numbers_are_told_over_all_splits_together(make_table):
    pids = gapped({17, 60}) + gapped({40}, offset=1000)
    (finding,) = check_gaps(make_table(train(pids)))
    assert finding.examples == ("17", "60", "1040")
    odd, even = train(pids[::2]), [(f"q{row[0]}", *row[1:]) for row in train(pids[1::2])]
    halves = [*odd, *[(path, pid, camid, "gallery") for path, pid, camid, _ in even]]
    (again,) = check_gaps(make_table(halves))
    assert again.examples == finding.examples


@pytest.mark.parametrize(
    "pids",
    [gapped(set()), gapped(set()) + gapped(set(), offset=500), list(range(1, 300, 3)), [4, 9]],
    ids=["dense", "two blocks", "every third", "few"],
)
def test_a_numbering_that_is_whole_or_loose_has_no_gaps(pids, make_table):
    assert list(check_gaps(make_table(train(pids)))) == []


def test_a_published_set_has_the_gaps_its_authors_left(make_table):
    rows = train(gapped({17}))
    assert codes(check_gaps(make_table(rows))) == ["identity-gaps"]
    assert list(check_gaps(make_table(rows, expected={"train": Count(99, 99)}))) == []


def test_names_are_not_numbers(make_table):
    assert list(check_gaps(make_table(train(np.array(["a", "c"]).tolist())))) == []
