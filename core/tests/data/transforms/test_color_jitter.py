import colorsys
import math

import numpy as np
import pytest
import torch

from reid_core.data.transforms.color_jitter import ColorJitter
from reid_core.errors import ConfigError

OFF = {"brightness": 0, "contrast": 0, "saturation": 0, "hue": 0}


def grey(pixel):
    # Greys are cut to whole numbers, as results are.
    return math.floor(0.2989 * pixel[0] + 0.587 * pixel[1] + 0.114 * pixel[2])


def slow_brightness(image, factor):
    return image * factor


def slow_contrast(image, factor):
    greys = [grey(image[:, y, x]) for y in range(image.shape[1]) for x in range(image.shape[2])]
    return factor * image + (1 - factor) * np.mean(greys)


def slow_saturation(image, factor):
    changed = image.copy()
    for y in range(image.shape[1]):
        for x in range(image.shape[2]):
            changed[:, y, x] = factor * image[:, y, x] + (1 - factor) * grey(image[:, y, x])
    return changed


def slow_hue(image, turn):
    changed = image.copy()
    for y in range(image.shape[1]):
        for x in range(image.shape[2]):
            h, s, v = colorsys.rgb_to_hsv(*(image[:, y, x] / 255))
            changed[:, y, x] = 255 * np.array(colorsys.hsv_to_rgb((h + turn) % 1, s, v))
    return changed


def drawn(seed, brightness=0.0, contrast=0.0, saturation=0.0, hue=0.0):
    """What the generator gives: three factors and a turn."""
    rng = np.random.default_rng(seed)
    rng.random()
    factors = [rng.uniform(max(0, 1 - a), 1 + a) for a in (brightness, contrast, saturation)]
    return [*factors, rng.uniform(-hue, hue)]


@pytest.mark.parametrize(
    ("parameter", "amount", "slow", "tolerance"),
    [
        ("brightness", 0.9, slow_brightness, 1),
        ("contrast", 0.9, slow_contrast, 1),
        ("saturation", 0.9, slow_saturation, 1),
        ("hue", 0.5, slow_hue, 2),
    ],
)
def test_a_single_change_is_its_formula(parameter, amount, slow, tolerance, photo):
    image = photo()
    jitter = ColorJitter(probability=1.0, **{**OFF, parameter: amount})
    position = list(OFF).index(parameter)
    for seed in range(6):
        value = drawn(seed, **{parameter: amount})[position]
        expected = np.floor(slow(image.double().numpy(), value).clip(0, 255))
        changed = jitter(image, np.random.default_rng(seed)).double().numpy()
        assert np.abs(changed - expected).max() <= tolerance


def test_the_changes_come_in_any_order(photo):
    image = photo()
    # The two do not commute: once pixels are cut off at white, or the mean has changed.
    jitter = ColorJitter(probability=1.0, **{**OFF, "brightness": 0.9, "contrast": 0.9})
    orders = set()
    for seed in range(60):
        values = drawn(seed, brightness=0.9, contrast=0.9)
        made = jitter(image, np.random.default_rng(seed)).double().numpy()
        start = image.double().numpy()
        first = slow_contrast(slow_brightness(start, values[0]).clip(0, 255), values[1])
        second = slow_brightness(slow_contrast(start, values[1]).clip(0, 255), values[0])
        distances = [np.abs(made - order.clip(0, 255)).max() for order in (first, second)]
        assert min(distances) <= 3
        if max(distances) > 10:
            orders.add(int(np.argmin(distances)))
    assert orders == {0, 1}


def test_the_factor_fills_its_range_and_never_falls_below_zero():
    image = torch.full((3, 8, 8), 100, dtype=torch.uint8)
    jitter = ColorJitter(probability=1.0, **{**OFF, "brightness": 1.5})
    rngs = map(np.random.default_rng, range(400))
    values = [int(jitter(image, rng)[0, 0, 0]) / 100 for rng in rngs]
    assert 0 <= min(values) < 0.05
    assert 2.45 < max(values) <= 2.5


def test_the_probability_is_kept_and_no_amount_changes_nothing(photo):
    image = photo()
    same = [
        torch.equal(ColorJitter(probability=0.3)(image, np.random.default_rng(seed)), image)
        for seed in range(300)
    ]
    assert 0.6 < np.mean(same) < 0.8
    assert torch.equal(ColorJitter(probability=1.0, **OFF)(image, np.random.default_rng(0)), image)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"probability": -0.1}, r"color_jitter: probability is -0.1; expected 0..1"),
        ({"brightness": -1}, "color_jitter: brightness is -1; expected 0 or more"),
        ({"contrast": float("inf")}, "contrast is inf"),
        ({"saturation": float("nan")}, "saturation is nan"),
        ({"hue": 0.6}, r"hue is 0.6; expected 0..0.5"),
    ],
)
def test_values_out_of_range_are_refused(keywords, message):
    with pytest.raises(ConfigError, match=message):
        ColorJitter(**keywords)
