import numpy as np

from reid_core.doctor.cameras import check_cameras


def rows(numbers, split="train"):
    cameras = [camera for camera, number in numbers.items() for _ in range(number)]
    return [(f"{split}/{i}.png", i % 5, camera, split) for i, camera in enumerate(cameras)]


def test_a_camera_with_a_handful_of_images_is_told_in_its_part(make_table):
    manifest = make_table(rows({1: 100, 2: 90, 3: 4}) + rows({1: 50, 2: 50, 3: 50}, "gallery"))
    (finding,) = check_cameras(manifest)
    assert finding.code == "scarce-cameras"
    assert finding.examples == (
        "camera 3 (4 images in training, 90 in the middle, for example train/190.png)",
    )


def test_a_camera_with_nearly_all_images_is_told(make_table):
    (finding,) = check_cameras(make_table(rows({1: 500, 2: 40, 3: 40, 4: 40})))
    assert (finding.code, finding.count) == ("dominant-cameras", 1)
    assert finding.examples[0].startswith("camera 1 (500 images in training")


def test_cameras_within_the_usual_differences_are_fine(make_table):
    assert list(check_cameras(make_table(rows({1: 412, 2: 284, 3: 194, 4: 143, 5: 79})))) == []


def test_a_camera_that_training_has_not_seen_is_worth_knowing(make_table):
    (finding,) = check_cameras(make_table(rows({1: 5}) + rows({1: 5, 8: 5}, "query")))
    assert (finding.code, finding.severity) == ("cameras-not-trained", "info")
    assert finding.examples == ("camera 8",)


def test_case_b039_unknown_cameras_are_said_to_be(make_table):
    manifest = make_table(rows({0: 8}), has_cameras=False)
    (finding,) = check_cameras(manifest)
    assert (finding.code, finding.severity) == ("no-cameras", "info")
    for how in ("column camid of a table", "{camid} in a folder's pattern", "camera=KEY of a COCO"):
        assert how in finding.advice
    assert "camera filter off" in finding.message
    assert "protocol no_camera" in finding.message


def test_an_empty_set_has_no_cameras_to_speak_of(make_table):
    empty = make_table(rows({1: 1})).take(np.array([], dtype=np.intp))
    assert list(check_cameras(empty)) == []
