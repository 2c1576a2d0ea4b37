"""B014 annotations without a box."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

from reid_core.data.datasets.coco import coco
from reid_core.errors import DataError

IMAGES = [
    {
        "id": "i2", "file_name": "S1/b.png", "location": "N", "datetime": "1970-01-01 00:00:10",
        "seq_id": "q1", "frame_num": 2, "part": "val",
    },
    {
        "id": "i1", "file_name": "S1/a.png", "location": "S", "datetime": "1970-01-01 00:00:05",
        "seq_id": "q1", "frame_num": 1, "part": "train",
    },
]  # fmt: skip
CATEGORIES = [{"id": 1, "name": "zebra"}, {"id": 2, "name": "giraffe"}]


def annotation(image, individual, box=(1, 2, 3, 4), category=1, **more):
    made = {"image_id": image, "individual_id": individual, "category_id": category, **more}
    return made if box is None else {**made, "bbox": list(box)}


ANNOTATIONS = [
    annotation("i2", "Zoë"),
    annotation("i1", "Max", (5, 6, 7, 8), 2),
    annotation("i1", "Zoë", (0, 0, 2, 2)),
]


@pytest.fixture
def write(tmp_path):
    for name in ("a.png", "b.png"):
        (tmp_path / "S1").mkdir(exist_ok=True)
        Image.new("RGB", (20, 20)).save(tmp_path / "S1" / name)

    def file(annotations=ANNOTATIONS, images=IMAGES, name="zoo.json", **more):
        content = {"images": images, "annotations": annotations, "categories": CATEGORIES, **more}
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps(content))
        return tmp_path / name

    return file


def message(call, *arguments, **parameters):
    with pytest.raises(DataError) as caught:
        call(*arguments, **parameters)
    return str(caught.value)


def test_annotations_become_rows_sorted_by_image(write, tmp_path):
    manifest = coco(write())
    assert (manifest.name, manifest.root) == ("zoo", tmp_path)
    assert manifest.paths.tolist() == ["S1/a.png", "S1/a.png", "S1/b.png"]
    assert manifest.pids.tolist() == ["Max", "Zoë", "Zoë"]
    assert manifest.splits.tolist() == ["train"] * 3
    assert not manifest.has_cameras
    assert manifest.columns["boxes"].tolist() == [[5, 6, 7, 8], [0, 0, 2, 2], [1, 2, 3, 4]]
    assert manifest.columns["species"].tolist() == ["giraffe", "zebra", "zebra"]
    assert sorted(manifest.columns) == ["boxes", "species"]
    assert manifest.notes == (
        "the images have the key location; if it says which camera took them, type `camera: "
        "location` in the data set's braces of reid-train, `--param camera=location` for "
        "reid-data",
    )


def test_the_images_of_camera_traps_say_place_time_and_sequence(write):
    manifest = coco(
        write(),
        camera="location",
        time="datetime",
        sequence="seq_id",
        frame="frame_num",
        split="part",
        splits={"val": "query"},
        title="serengeti",
    )
    assert manifest.name == "serengeti"
    assert manifest.has_cameras
    assert manifest.camids.tolist() == ["S", "S", "N"]
    assert manifest.splits.tolist() == ["train", "train", "query"]
    assert manifest.columns["times"].tolist() == [5, 5, 10]
    assert manifest.columns["sequences"].tolist() == ["q1"] * 3
    assert manifest.columns["frames"].tolist() == [1, 1, 2]
    assert manifest.notes == ()


def test_integers_stay_integers_and_a_split_can_be_left_out(write):
    path = write([annotation("i1", 10), annotation("i2", 9)])
    assert coco(path).pids.tolist() == [10, 9]
    manifest = coco(path, split="part", splits={"val": None})
    assert manifest.pids.tolist() == [10]
    assert manifest.notes[0] == "1 annotation left out, as splits says"


def test_b014_annotations_without_a_box_are_the_whole_image_and_counted(write):
    nan = float("nan")
    path = write(
        [annotation("i1", 1), annotation("i2", 2, None), annotation("i2", 3, ()),
         annotation("i2", 4, (nan,) * 4)]
    )  # fmt: skip
    manifest = coco(path)
    assert manifest.notes[0] == "3 annotations without a box: the whole image"
    np.testing.assert_array_equal(manifest.columns["boxes"][1:], np.full((3, 4), np.nan))
    dropped = coco(path, no_box="drop")
    assert len(dropped) == 1
    assert dropped.notes[0] == "3 annotations left out, without a box"


def test_crowds_boxes_of_no_size_and_strangers_are_left_out_and_counted(write):
    manifest = coco(
        write(
            [
                *ANNOTATIONS,
                annotation("i1", "Max", iscrowd=1),
                annotation("i1", "Max", (1, 1, 0, 4)),
                annotation("i1", None),
                annotation("i1", " "),
                {"image_id": "i1", "category_id": 1, "bbox": [1, 1, 2, 2]},
            ]
        )
    )
    assert len(manifest) == 3
    assert manifest.notes[:3] == (
        "1 annotation left out, of crowds",
        "1 annotation left out, with a box of no size",
        "3 annotations left out, without an identity",
    )


@pytest.mark.parametrize("key", ["identity", "individual", "pid", "track_id", "name"])
def test_the_key_of_the_identity_is_found(key, write):
    made = [{"image_id": "i1", key: "x"}, {"image_id": "i2", "attributes": {"sex": "f"}, key: "y"}]
    assert coco(write(made)).pids.tolist() == ["x", "y"]


def test_a_key_inside_of_another_is_found_and_may_be_named(write):
    made = [{"image_id": "i1", "attributes": {"individual": "x", "nick": "z"}}]
    assert coco(write(made)).pids.tolist() == ["x"]
    assert coco(write(made), identity="attributes.nick").pids.tolist() == ["z"]


def test_several_keys_or_none_ask_for_the_one(write):
    two = write([{"image_id": "i1", "track_id": 1, "name": "x", "bbox": [1, 1, 2, 2]}])
    text = message(coco, two)
    assert "several keys that may say so, track_id, name; their keys are name, track_id;" in text
    assert "`--param identity=track_id` for reid-data" in text
    assert coco(two, identity="name").pids.tolist() == ["x"]
    none = write([{"image_id": "i1", "ear_tag": "x", "bbox": [1, 1, 2, 2]}])
    text = message(coco, none)
    assert "they have none of the keys identity, individual_id, individual, pid, track_id," in text
    assert "their keys are ear_tag; say which of them it is: `identity: KEY` in the data" in text
    text = message(coco, none, identity="ear_tags")
    assert "no annotation has the key ear_tags; did you mean ear_tag?" in text
    plain = write([{"image_id": "i1", "bbox": [1, 1, 2, 2]}])
    assert "no keys but COCO's own, so the file says what is on an image and not who; write" in (
        message(coco, plain)
    )


def test_empty_lists_are_called_so(write):
    assert "the list annotations is empty; expected one for each" in message(coco, write([]))
    assert "the list annotations is empty" in message(coco, write([], images=[]), identity="pid")
    assert "the list images is empty; expected the image of" in message(coco, write(images=[]))


@pytest.mark.parametrize("inner", ["", "images"])
@pytest.mark.parametrize("table", ["zoo.json", "annotations/zoo.json"])
def test_the_images_are_found_beside_the_file_or_one_above(inner, table, write, tmp_path):
    if inner:
        (tmp_path / inner).mkdir()
        (tmp_path / "S1").rename(tmp_path / inner / "S1")
    assert coco(write(name=table)).root == tmp_path / inner


def test_images_that_are_nowhere_name_the_folders_that_were_looked_in(write, tmp_path):
    (tmp_path / "S1").rename(tmp_path / "SS1")
    text = message(coco, write())
    assert "none of 3 images that were looked for, for example S1/a.png, is in" in text
    assert f"{tmp_path}, {tmp_path / 'images'}, {tmp_path.parent}" in text
    assert f"did you mean {tmp_path / 'SS1'}?" in text
    assert "set root to the folder that the file names start at" in text
    assert coco(write(), root=_moved(tmp_path)).root == tmp_path / "moved"
    text = message(coco, write(), root=tmp_path / "gone")
    assert f"there is no folder {tmp_path / 'gone'}" in text


def _moved(folder):
    (folder / "moved").mkdir()
    (folder / "SS1").rename(folder / "moved" / "S1")
    return folder / "moved"


def test_absolute_file_names_start_at_the_folder_they_share(write, tmp_path):
    images = [
        {**image, "file_name": f"{tmp_path.as_posix()}/{image['file_name']}"} for image in IMAGES
    ]
    manifest = coco(write(images=images))
    assert manifest.root == tmp_path / "S1"
    assert manifest.paths.tolist() == ["a.png", "a.png", "b.png"]


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"camera": "locaton"}, "camera is locaton, which no image and no annotation has; did you"),
        ({"camera": "locaton"}, "did you mean location?; the images have datetime, file_name,"),
        ({"time": "seq_id"}, "image S1/a.png: seq_id is 'q1'; expected seconds, or a date"),
        ({"frame": "seq_id"}, "seq_id is 'q1'; expected an integer"),
        ({"split": "part"}, "has the splits 'train', 'val'; what 'val' stands for is not known"),
    ],
)
def test_keys_of_images_that_cannot_be_are_named(parameters, expected, write):
    assert expected in message(coco, write(), **parameters)


def test_an_image_without_a_camera_is_named(write):
    images = [IMAGES[0], {key: IMAGES[1][key] for key in ("id", "file_name")}]
    text = message(coco, write(images=images), camera="location")
    assert "image S1/a.png has no location, which camera names; expected it for each" in text


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ([annotation("i9", 1)], "annotations[0] is of image i9, which is not in the list"),
        ([annotation("i1", 1, (1, 2))], "annotations[0] has the bbox [1, 2]; expected [x, y,"),
        ([annotation("i1", 1, (0.1, 0.1, 0.5, 0.6))], "above 0.6, so they look like fractions"),
        ([annotation("i1", 1, iscrowd=1)], "no annotation is left of 1: 1 annotation left out, of"),
        ([{"individual_id": 1}], "annotations[0] has no image_id; its keys are individual_id"),
        ("none", "there is no list 'annotations'; expected a COCO file"),
    ],
)  # fmt: skip
def test_annotations_that_cannot_be_are_named(annotations, expected, write):
    assert expected in message(coco, write(annotations))


def test_a_file_that_is_no_coco_file_is_named(write, tmp_path):
    path = write(images=[*IMAGES, IMAGES[0]])
    assert "two images have one id" in message(coco, path)
    path.write_text("[1]")
    assert "holds a list; expected {images, annotations}" in message(coco, path)
    path.write_text("{images")
    assert "is not JSON: Expecting property name" in message(coco, path)
    assert "there is no file" in message(coco, tmp_path / "zo.json")
