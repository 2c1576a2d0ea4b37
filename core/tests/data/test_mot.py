from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from reid_core.data.datasets.mot import mot
from reid_core.errors import ConfigError, DataError

#: frame, id, x, y, w, h, flag, class, visibility
LINES = [
    "1,2,11,21,30,40,1,1,1.0",
    "2,2,12,21,30,40,1,1,0.5",
    "3,2,13,21,30,40,1,1,0.2",
    "1,1,1,1,5,10,1,1,1",
    "2,1,-3,1,5,10,1,1,1",
    "3,7,1,1,5,20,0,1,1",
    "3,8,1,1,5,20,1,12,1",
]
INFO = "[Sequence]\nimDir=img1\nframeRate=25\nseqLength=3\nimWidth=100\nimHeight=80\n"


@pytest.fixture
def write(tmp_path):
    def sequence(name="MOT-01", lines=LINES, *, frames=3, info=INFO, images="img1", digits=6):
        folder = tmp_path / name
        (folder / images).mkdir(parents=True, exist_ok=True)
        for frame in range(1, frames + 1):
            Image.new("RGB", (100, 80)).save(folder / images / f"{frame:0{digits}d}.png")
        if lines is not None:
            (folder / "gt").mkdir(exist_ok=True)
            (folder / "gt" / "gt.txt").write_text("\n".join(lines) + "\n")
        if info is not None:
            (folder / "seqinfo.ini").write_text(info)
        return tmp_path

    return sequence


def message(error, call, *arguments, **parameters):
    with pytest.raises(error) as caught:
        call(*arguments, **parameters)
    return str(caught.value)


def test_boxes_of_tracks_become_rows_sorted_by_track_and_frame(write):
    root = write()
    manifest = mot(root)
    assert manifest.root == root
    assert manifest.pids.tolist() == ["MOT-01/1"] * 2 + ["MOT-01/2"] * 3
    assert manifest.paths.tolist() == [f"MOT-01/img1/00000{frame}.png" for frame in (1, 2, 1, 2, 3)]
    assert manifest.splits.tolist() == ["train"] * 5
    assert not manifest.has_cameras
    assert manifest.camids.tolist() == [0] * 5
    assert manifest.columns["frames"].tolist() == [1, 2, 1, 2, 3]
    assert manifest.columns["sequences"].tolist() == ["MOT-01"] * 5
    assert manifest.columns["tracklets"].tolist() == [0, 0, 1, 1, 1]
    np.testing.assert_allclose(manifest.columns["times"], [0, 0.04, 0, 0.04, 0.08])
    assert manifest.notes == (
        "1 box left out, which the ground truth says not to consider (flag 0)",
        "1 box left out, of other classes",
    )


def test_the_first_pixel_is_1_in_the_file_and_0_in_the_manifest(write):
    root = write()
    assert mot(root).columns["boxes"].tolist() == [
        [0, 0, 5, 10], [-4, 0, 5, 10], [10, 20, 30, 40], [11, 20, 30, 40], [12, 20, 30, 40],
    ]  # fmt: skip
    assert mot(root, origin=0).columns["boxes"][0].tolist() == [1, 1, 5, 10]


@pytest.mark.parametrize(
    ("rules", "kept", "note"),
    [
        ({"min_visibility": 0.5}, [1, 2, 1, 2], "1 box left out, seen too little (min_visibilit"),
        ({"min_height": 11}, [1, 2, 3], "2 boxes left out, too low (min_height) or of no size"),
        ({"every": 2}, [1, 1, 3], "2 boxes left out, between the frames that are used (every)"),
        ({"classes": [12]}, [3], "5 boxes left out, of other classes"),
        ({"classes": None}, [1, 2, 1, 2, 3, 3], "1 box left out, which the ground truth"),
    ],
)
def test_rules_leave_boxes_out_and_count_them(rules, kept, note, write):
    manifest = mot(write(), **rules)
    assert manifest.columns["frames"].tolist() == kept
    assert any(line.startswith(note) for line in manifest.notes), manifest.notes


def test_every_counts_the_boxes_that_the_other_rules_leave(write):
    lines = [f"{frame},5,1,1,9,9,1,1,{frame % 3 != 1:d}" for frame in range(1, 10)]
    manifest = mot(write(lines=lines, frames=9), every=2, min_visibility=0.5)
    assert manifest.columns["frames"].tolist() == [2, 5, 8]


def test_a_track_is_somebody_else_in_each_sequence(write):
    write("A", LINES[:3])
    manifest = mot(write("B", LINES[:3]))
    assert manifest.identities.tolist() == ["A/2", "B/2"]
    assert manifest.columns["tracklets"].tolist() == [0, 0, 0, 1, 1, 1]


def test_tracks_can_be_shared_and_sequences_are_then_cameras(write):
    write("A", LINES[:3])
    manifest = mot(write("B", LINES[:2]), identities="shared")
    assert manifest.pids.tolist() == [2] * 5
    assert manifest.has_cameras
    assert manifest.camids.tolist() == ["A"] * 3 + ["B"] * 2
    assert manifest.columns["tracklets"].tolist() == [0, 0, 0, 1, 1]


@pytest.mark.parametrize("above", ["", "MOT17/", "MOT17/train/"])
def test_the_root_may_be_above_the_sequences(above, write):
    manifest = mot(write(f"{above}MOT-01"))
    assert manifest.pids[0] == "MOT-01/1"
    assert manifest.paths[0] == f"{above}MOT-01/img1/000001.png"


def test_the_root_may_be_a_sequence(write):
    manifest = mot(write() / "MOT-01")
    assert manifest.pids[0] == "MOT-01/1"
    assert manifest.paths[0] == "img1/000001.png"


def test_two_sequences_of_one_name_are_called_by_their_paths(write):
    write("train/A")
    assert mot(write("val/A")).identities.tolist() == [
        "train/A/1", "train/A/2", "val/A/1", "val/A/2",
    ]  # fmt: skip


def test_a_sequence_for_each_detector_is_read_once(write):
    for detector in ("DPM", "FRCNN", "SDP"):
        root = write(f"MOT17-02-{detector}")
    manifest = mot(root)
    assert manifest.identities.tolist() == ["MOT17-02-DPM/1", "MOT17-02-DPM/2"]
    assert manifest.notes[0] == (
        "2 sequences left out, read with another detector already, for example MOT17-02-FRCNN"
    )


def test_sequences_without_ground_truth_are_counted(write):
    write("B", lines=None)
    manifest = mot(write("A"))
    assert manifest.notes[0] == "1 sequence without ground truth, for example B"


@pytest.mark.parametrize("digits", [1, 8])
def test_names_of_images_may_have_any_number_of_digits(digits, write):
    manifest = mot(write(images="frames", digits=digits, info=INFO.replace("img1", "frames")))
    assert manifest.paths[0] == f"MOT-01/frames/{1:0{digits}d}.png"


def test_without_a_rate_there_are_no_times(write):
    assert "times" not in mot(write(info=None)).columns


def test_boxes_beside_the_image_are_left_out_where_its_size_is_known(write):
    lines = ["1,1,101,5,9,9", "1,2,5,81,9,9", "1,3,-8,5,9,9", "1,4,-7,5,9,9", "1,5,100,80,9,9"]
    manifest = mot(write(lines=lines))
    assert manifest.pids.tolist() == ["MOT-01/4", "MOT-01/5"]
    assert "3 boxes left out, beside the image" in manifest.notes
    assert len(mot(write(lines=lines, info=INFO.replace("imWidth", "x")))) == 5


def test_mot15_tells_neither_class_nor_visibility(write):
    lines = ["1,1,1,1,9,9,1,-8.6,12,0", "2,1,1,1,9,9,0,-8.6,99,0"]
    manifest = mot(write(lines=lines), min_visibility=0.5)
    assert len(manifest) == 1
    assert manifest.notes[:2] == (
        "MOT-01 does not tell visibility: min_visibility leaves nothing out",
        "MOT-01 does not tell classes: all of its boxes are used",
    )


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["1,1,1,1,9,9", "1,1,1,one,9,9"], "gt.txt, line 2: 'one' is no number; a line is frame,"),
        (["", "1,1,1,1,9,9", "1,1,1"], "gt.txt, line 3: it has 3 values; expected 6, as in the"),
        (["1,1,1"], "gt.txt, line 1: it has 3 values; expected 6 to 10"),
        (["1,1,1,1,9,9", "0,1,1,1,9,9"], "gt.txt, line 2: the frame is below 1"),
        (["1.5,1,1,1,9,9"], "gt.txt, line 1: the frame is no integer"),
        (["1,1.5,1,1,9,9"], "gt.txt, line 1: the id is no integer"),
        (["1,1,nan,1,9,9"], "gt.txt, line 1: a value is no number"),
        (["1,1,1,1,9,9", "9,1,1,1,9,9"], "gt.txt, line 2: there is no image of frame 9 in"),
        ([], "gt.txt is empty; expected lines of frame,id,x,y,w,h"),
        (["1,1,1,1,9,9,0"], "no box is left: 1 box left out, which the ground truth says not"),
    ],
)  # fmt: skip
def test_ground_truth_that_cannot_be_is_named_with_its_line(lines, expected, write):
    assert expected in message(DataError, mot, write(lines=lines))


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ({"every": 0}, "every is 0; expected 1 or more"),
        ({"min_visibility": 2}, "min_visibility is 2; expected 0 to 1"),
        ({"min_height": -1}, "min_height is -1; expected 0 or more"),
    ],
)
def test_rules_out_of_range_are_named(rules, expected, write):
    assert expected in message(ConfigError, mot, write(), **rules)


def test_a_folder_without_sequences_says_what_it_holds(write, tmp_path):
    write("videos", lines=None, info=None, images="frames")
    text = message(DataError, mot, tmp_path)
    assert (
        f"there is no gt/gt.txt in {tmp_path} or in a folder of it; it holds the folders vid"
        in text
    )
    assert "did you mean" in message(DataError, mot, tmp_path / "video")


def test_a_missing_folder_of_images_names_the_nearest(write, tmp_path):
    write(info=INFO.replace("imDir=img1", "imDir=img"))
    text = message(DataError, mot, tmp_path)
    assert f"there is no folder of images {tmp_path / 'MOT-01/img'}" in text
    assert f"did you mean {tmp_path / 'MOT-01/img1'}?" in text


def test_a_description_that_cannot_be_understood_is_named(write):
    text = message(DataError, mot, write(info="frameRate=25\n"))
    assert "seqinfo.ini cannot be understood" in text
    assert "expected [Sequence]" in text


def test_two_images_of_one_frame_are_named(write):
    root = write()
    Image.new("RGB", (9, 9)).save(root / "MOT-01/img1/1.png")
    text = message(DataError, mot, root)
    assert "two images of frame 1, 000001.png and 1.png; remove one" in text
