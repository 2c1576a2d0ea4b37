import math

import numpy as np
import pytest
import torch

from reid_core.data.transforms.random_affine import RandomAffine
from reid_core.errors import ConfigError

STILL = {"degrees": 0, "scale": (1.0, 1.0), "shear": 0}


def slow_affine(image, *, angle=0.0, right=0, down=0, scale=1.0, shear=0.0, fill=(0, 0, 0)):
    """Look every pixel up where the inverse map says; also say how close it was to another one.

    A point is sheared along x, scaled, turned clockwise and shifted, around the middle.
    """
    _, height, width = image.shape
    turn, slope = math.radians(angle), math.tan(math.radians(shear))
    forward = (
        scale
        * np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
        @ np.array([[1, -slope], [0, 1]])
    )
    backward = np.linalg.inv(forward)
    result = np.empty(image.shape, dtype=np.uint8)
    doubt = np.zeros((height, width), dtype=bool)
    for y in range(height):
        for x in range(width):
            point = np.array([x + 0.5 - width / 2 - right, y + 0.5 - height / 2 - down])
            u, v = backward @ point + (width / 2 - 0.5, height / 2 - 0.5)
            doubt[y, x] = any(abs(c - math.floor(c) - 0.5) < 1e-3 for c in (u, v))
            column, row = round(u), round(v)
            inside = 0 <= row < height and 0 <= column < width
            result[:, y, x] = image[:, row, column] if inside else fill
    return result, doubt


def assert_alike(made, expected):
    result, doubt = expected
    assert doubt.mean() < 0.2
    assert np.array_equal(made.numpy()[:, ~doubt], result[:, ~doubt])


def drawn(seed, height, width, degrees, translate, scale, shear):
    rng = np.random.default_rng(seed)
    rng.random()
    angle = rng.uniform(-degrees, degrees)
    right, down = (round(rng.uniform(-p, p)) for p in (translate[0] * width, translate[1] * height))
    factor = rng.uniform(*scale)
    return {
        "angle": angle,
        "right": right,
        "down": down,
        "scale": factor,
        "shear": rng.uniform(-shear, shear),
    }


@pytest.mark.parametrize(
    "parameters",
    [
        {"degrees": 40.0},
        {"translate": (0.3, 0.1)},
        {"scale": (0.5, 2.0)},
        {"shear": 30.0},
        {"degrees": 30.0, "translate": (0.2, 0.2), "scale": (0.8, 1.3), "shear": 20.0},
    ],
)
def test_pixels_come_from_where_the_inverse_map_says(parameters, photo):
    image = photo(21, 14)
    ranges = {**STILL, "translate": (0.0, 0.0), **parameters}
    affine = RandomAffine(**ranges, fill="mean", image_mean=(0.1, 0.5, 0.9))
    for seed in range(4):
        made = affine(image, np.random.default_rng(seed))
        values = drawn(seed, 21, 14, **ranges)
        assert_alike(made, slow_affine(image.numpy(), **values, fill=(26, 128, 230)))


def test_with_nothing_to_change_the_image_stays(photo):
    image = photo()
    assert torch.equal(RandomAffine(**STILL)(image, np.random.default_rng(0)), image)


def test_bilinear_interpolation_is_smoother_than_nearest(photo):
    image = photo()
    nearest, bilinear = (
        RandomAffine(interpolation=name)(image, np.random.default_rng(3)).float()
        for name in ("nearest", "bilinear")
    )
    assert not torch.equal(nearest, bilinear)
    assert bilinear.diff(dim=-1).abs().mean() < nearest.diff(dim=-1).abs().mean()


def test_the_probability_is_kept(photo):
    image = photo(16, 12)
    affine = RandomAffine(probability=0.3)
    same = [torch.equal(affine(image, np.random.default_rng(seed)), image) for seed in range(200)]
    assert 0.58 < np.mean(same) < 0.82


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"degrees": 181}, r"random_affine: degrees is 181; expected 0..180"),
        ({"translate": (0.0, 1.1)}, r"translate is 1.1; expected 0..1"),
        ({"scale": (0.0, 1.0)}, r"scale is \(0.0, 1.0\); expected two numbers, 0 < low <= high"),
        ({"shear": 90}, r"shear is 90; expected 0..89"),
    ],
)
def test_values_out_of_range_are_refused(keywords, message):
    with pytest.raises(ConfigError, match=message):
        RandomAffine(**keywords)
