"""Random resized crop, random translation, and the rectangles that they and others draw."""

import math

import numpy as np
import pytest
import torch

from reid_core.data.resize import Resize
from reid_core.data.transforms.random_resized_crop import RandomResizedCrop
from reid_core.data.transforms.random_translation import RandomTranslation
from reid_core.data.transforms.rectangle import RectangleDraw
from reid_core.errors import ConfigError


def test_a_crop_is_a_resized_part(photo):
    image = photo(24, 16)
    crop = RandomResizedCrop(area=(0.2, 0.8), aspect=(0.5, 3.0), interpolation="bicubic")
    resize = Resize(image_size=(24, 16), interpolation="bicubic")
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rng.random()
        for _ in range(10):
            area = rng.uniform(0.2, 0.8) * 24 * 16
            aspect = math.exp(rng.uniform(math.log(0.5), math.log(3.0)))
            height, width = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
            if height <= 24 and width <= 16:
                break
        top, left = rng.integers(0, 24 - height + 1), rng.integers(0, 16 - width + 1)
        part = image[:, top : top + height, left : left + width]
        assert torch.equal(crop(image, np.random.default_rng(seed)), resize(part))


@pytest.mark.parametrize(
    ("size", "aspect", "rows", "columns"),
    [
        ((40, 10), (0.5, 1.0), slice(15, 25), slice(0, 10)),  # too high: the middle
        ((10, 40), (1.0, 2.0), slice(0, 10), slice(15, 25)),  # too wide
        ((20, 20), (0.5, 2.0), slice(0, 20), slice(0, 20)),
    ],
)
def test_where_no_rectangle_fits_the_middle_is_taken(size, aspect, rows, columns, photo):
    image = photo(*size)
    crop = RandomResizedCrop(area=(1.0, 1.0), aspect=aspect)
    resize = Resize(image_size=size)
    found = {
        torch.equal(crop(image, np.random.default_rng(s)), resize(image[:, rows, columns]))
        for s in range(5)
    }
    assert True in found


def test_a_whole_crop_is_the_image(photo):
    image = photo(20, 20)
    crop = RandomResizedCrop(area=(1.0, 1.0), aspect=(1.0, 1.0))
    assert torch.equal(crop(image, np.random.default_rng(0)), image)
    assert torch.equal(RandomResizedCrop(probability=0)(image, np.random.default_rng(0)), image)


def test_a_translation_is_a_window_of_the_enlarged_image(photo):
    image = photo(32, 24)
    enlarged = Resize(image_size=(36, 27))(image)
    windows = {
        (top, left): enlarged[:, top : top + 32, left : left + 24]
        for top in range(5)
        for left in range(4)
    }
    seen, kept = [], 0
    for seed in range(600):
        made = RandomTranslation()(image, np.random.default_rng(seed))
        if torch.equal(made, image):
            kept += 1
            continue
        found = [corner for corner, window in windows.items() if torch.equal(made, window)]
        assert len(found) == 1
        seen += found
    assert 240 < kept < 360
    assert set(seen) == set(windows)
    tops = np.bincount([top for top, _ in seen])
    assert tops[0] < tops[1] > tops[4], "the ends are half as likely"


def test_rectangles_have_the_area_and_the_aspect_that_were_asked_for():
    draw = RectangleDraw((0.1, 0.3), (0.5, 2.0))
    rng = np.random.default_rng(0)
    boxes = [draw.draw(200, 100, rng) for _ in range(500)]
    shares = [box.height * box.width / 20000 for box in boxes]
    assert 0.095 < min(shares) < 0.12
    assert 0.28 < max(shares) < 0.305
    aspects = [box.height / box.width for box in boxes]
    assert 0.48 < min(aspects) < 0.6
    assert 1.8 < max(aspects) < 2.06
    assert all(box.rows.stop <= 200 and box.columns.stop <= 100 for box in boxes)


@pytest.mark.parametrize(("aspect_draw", "share"), [("uniform", 2 / 2.7), ("log", 0.5)])
def test_the_logarithm_makes_high_and_wide_rectangles_equally_likely(aspect_draw, share):
    draw = RectangleDraw((0.01, 0.02), (0.3, 1 / 0.3), aspect_draw)
    rng = np.random.default_rng(0)
    boxes = [draw.draw(1000, 1000, rng) for _ in range(1000)]
    expected = (1 / 0.3 - 1) / (1 / 0.3 - 0.3) if aspect_draw == "uniform" else share
    assert abs(np.mean([box.height > box.width for box in boxes]) - expected) < 0.05


def test_the_number_of_attempts_is_kept():
    rng = np.random.default_rng(0)
    assert RectangleDraw((0.9, 0.9), (9.0, 9.0), attempts=7).draw(10, 10, rng) is None
    twin = np.random.default_rng(0)
    twin.random(14)  # two numbers an attempt
    assert rng.random() == twin.random()


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"area": (0.0, 1.0)}, r"random_resized_crop: area is \(0.0, 1.0\); expected two numbers"),
        ({"area": (0.5, 1.1)}, "high at most 1"),
        ({"aspect": (2.0, 1.0)}, r"aspect is \(2.0, 1.0\).* both finite"),
        ({"aspect": (1.0, float("inf"))}, "aspect is"),
    ],
)
def test_ranges_that_make_no_sense_are_refused(keywords, message):
    with pytest.raises(ConfigError, match=message):
        RandomResizedCrop(**keywords)
