import numpy as np
import pytest
from PIL import Image

from reid_core.doctor.boxes import check_edges, part_inside
from reid_core.doctor.scan import scan_images


def edges(make_set, boxes):
    rows = [("a.png", pid, 1, "train") for pid in range(len(boxes))]
    image = Image.fromarray(np.random.default_rng(0).integers(0, 256, (100, 160, 3), np.uint8))
    manifest = make_set({"a.png": image}, rows, columns={"boxes": np.array(boxes, dtype=float)})
    return list(check_edges(manifest, scan_images([manifest]).facts))


INSIDE = [[x, 0, 20, 60] for x in range(0, 100, 5)]


def test_boxes_inside_and_whole_images_are_as_they_should_be(make_set):
    assert edges(make_set, [*INSIDE, [np.nan] * 4, [0, 0, 160, 100], [-0.5, 0, 20, 60]]) == []


def test_a_few_boxes_that_are_cut_at_the_edge_are_information(make_set):
    (found,) = edges(make_set, [*INSIDE, [150, 0, 16, 60]])
    assert (found.code, found.severity, found.count) == ("boxes-over-the-edge", "info", 1)
    assert found.message.startswith("1 box reaches outside of the image, of 21; 0 by more than")
    assert found.examples == ("row 20: a.png [150.0, 0.0, 16.0, 60.0] (62% inside)",)


def test_boxes_of_which_less_than_half_lies_inside_are_wrong(make_set):
    # Two corners given as a corner and a size.
    (found,) = edges(make_set, [*INSIDE, [80, 40, 120, 95], [120, 30, 150, 80]])
    assert found.severity == "warning"
    assert "2 boxes reach outside of the image, of 22; 2 by more than half" in found.message
    assert "not two corners" in found.advice
    assert found.examples[0].endswith("[120.0, 30.0, 150.0, 80.0] (23% inside)")


def test_many_boxes_that_hang_over_the_edge_are_wrong(make_set):
    (found,) = edges(make_set, [[0, 0, 200, 100]] * 3 + INSIDE[:2])
    assert (found.severity, found.count) == ("warning", 3)
    assert "3 boxes reach outside of the image, of 5; 0 by more than half" in found.message


@pytest.mark.parametrize("seed", range(40))
def test_the_part_inside_is_that_of_counted_pixels(seed):
    rng = np.random.default_rng(seed)
    (x, y), (width, height) = rng.integers(-8, 15, 2), rng.integers(1, 21, 2)
    image = np.zeros((3, 12, 9))
    inside = sum(
        0 <= column < 9 and 0 <= row < 12
        for column in range(x, x + width)
        for row in range(y, y + height)
    )
    assert part_inside((x, y, width, height), image) == pytest.approx(inside / (width * height))
