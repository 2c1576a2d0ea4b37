"""Rectangles set to the mean colour; B024."""

import pickle

import numpy as np
import pytest
import torch

from reid_core.data.loader import Normalize
from reid_core.data.transforms.random_erasing import RandomErasing
from reid_core.errors import ConfigError

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def batch(count=64, height=64, width=32):
    generator = torch.Generator().manual_seed(0)
    return torch.rand((count, 3, height, width), generator=generator) + 1  # nothing is 0


def rectangle(image):
    """Top, left, height, width of what was erased; None where nothing was."""
    erased = (image == 0).all(dim=0)
    assert torch.equal((image == 0).any(dim=0), erased), "channels differ"
    if not erased.any():
        return None
    rows, columns = erased.any(dim=1).nonzero()[:, 0], erased.any(dim=0).nonzero()[:, 0]
    top, left = int(rows[0]), int(columns[0])
    height, width = int(rows[-1]) - top + 1, int(columns[-1]) - left + 1
    assert int(erased.sum()) == height * width, "not a full rectangle"
    return top, left, height, width


def test_only_full_rectangles_change_and_the_rest_stays():
    before = batch()
    after = RandomErasing(probability=0.5)(before.clone(), np.random.default_rng(0))
    boxes = [rectangle(image) for image in after]
    assert 20 < sum(box is not None for box in boxes) < 44
    for old, new, box in zip(before, after, boxes, strict=True):
        expected = old.clone()
        if box is not None:
            top, left, height, width = box
            for y in range(top, top + height):
                for x in range(left, left + width):
                    expected[:, y, x] = 0
        assert torch.equal(new, expected)


def test_share_and_shape_of_the_rectangles_stay_within_bounds():
    erasing = RandomErasing(probability=1.0, area=(0.1, 0.3), aspect=(0.5, 2.0))
    shares, aspects = [], []
    for seed in range(10):
        for image in erasing(batch(), np.random.default_rng(seed)):
            _, _, height, width = rectangle(image)
            shares.append(height * width / (64 * 32))
            aspects.append(height / width)
    # A side is rounded to whole pixels: at most half a pixel of about ten.
    assert min(shares) > 0.1 * 0.9
    assert max(shares) < 0.3 * 1.1
    assert min(aspects) > 0.5 * 0.9
    assert max(aspects) < 2.0 * 1.1
    assert max(shares) - min(shares) > 0.15, "the share hardly varies"


def test_rectangles_reach_every_edge():
    boxes = []
    erasing = RandomErasing(probability=1.0, area=(0.1, 0.3))
    for seed in range(20):
        images = erasing(batch(height=16, width=16), np.random.default_rng(seed))
        boxes += [rectangle(image) for image in images]
    assert min(top for top, _, _, _ in boxes) == 0
    assert min(left for _, left, _, _ in boxes) == 0
    assert max(top + height for top, _, height, _ in boxes) == 16
    assert max(left + width for _, left, _, width in boxes) == 16


def test_probability_zero_erases_nothing_and_one_erases_all():
    untouched = RandomErasing(probability=0.0)(batch(), np.random.default_rng(0))
    assert torch.equal(untouched, batch())
    all_of_them = RandomErasing(probability=1.0)(batch(), np.random.default_rng(0))
    assert all(rectangle(image) is not None for image in all_of_them)


def test_an_image_in_which_no_rectangle_fits_stays_whole():
    images = batch(count=8, height=1, width=1)
    erased = RandomErasing(probability=1.0)(images.clone(), np.random.default_rng(0))
    assert torch.equal(erased, images)


def test_what_is_erased_is_the_mean_colour():
    """0 after normalisation is the mean; black before it would be -2.117904 in channel 0."""
    mean_colour = torch.tensor(MEAN).mul(255).view(1, 3, 1, 1)
    normalize = Normalize(MEAN, STD)
    assert normalize(mean_colour.expand(1, 3, 4, 4)).abs().max() < 1e-6
    black = normalize(torch.zeros(1, 3, 4, 4, dtype=torch.uint8))
    assert black[0, 0, 0, 0].item() == pytest.approx(-2.117904, abs=1e-6)
    noise = torch.randint(1, 256, (8, 3, 64, 32), dtype=torch.uint8)
    erased = RandomErasing(probability=1.0)(normalize(noise), np.random.default_rng(0))
    assert all(rectangle(image) is not None for image in erased)


def test_the_same_generator_makes_the_same_rectangles():
    erasing = RandomErasing()
    first, again, other = (erasing(batch(), np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"probability": 1.5}, "random_erasing: probability is 1.5; expected 0..1"),
        ({"area": (0.4, 0.02)}, r"area is \(0.4, 0.02\); expected two shares"),
        ({"area": (0.0, 0.4)}, "0 < low <= high < 1"),
        ({"area": (0.02, 1.0)}, "0 < low <= high < 1"),
        ({"area": (float("nan"), 0.5)}, "area is"),
        ({"aspect": (0.0, 3.0)}, r"aspect is \(0.0, 3.0\)"),
        ({"aspect": (3.0, 0.3)}, "0 < low <= high"),
        ({"aspect": (0.3, float("inf"))}, "both finite"),
    ],
)
def test_ranges_that_make_no_sense_are_refused(keywords, message):
    with pytest.raises(ConfigError, match=message):
        RandomErasing(**keywords)


def test_it_can_be_pickled_and_leaves_global_random_state_alone(global_random_state):
    erasing = RandomErasing(area=(0.1, 0.2))
    copy = pickle.loads(pickle.dumps(erasing))
    images = batch()
    before = global_random_state()
    ours, theirs = (e(images.clone(), np.random.default_rng(3)) for e in (erasing, copy))
    assert torch.equal(ours, theirs)
    assert global_random_state() == before
