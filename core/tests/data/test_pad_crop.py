import pickle

import numpy as np
import pytest
import torch

from reid_core.data.transforms.pad_crop import PadCrop
from reid_core.errors import ConfigError

PIXELS = torch.arange(1, 61, dtype=torch.uint8).view(3, 5, 4)  # no black inside


def slow_shift(pixels, down, right):
    """Every pixel ``down`` and ``right`` of where it was; black where none came from."""
    _, height, width = pixels.shape
    shifted = torch.zeros_like(pixels)
    for y in range(height):
        for x in range(width):
            if 0 <= y - down < height and 0 <= x - right < width:
                shifted[:, y, x] = pixels[:, y - down, x - right]
    return shifted


def test_every_result_is_a_shift_and_every_shift_happens():
    crop = PadCrop(padding=2)
    shifts = {
        (down, right): slow_shift(PIXELS, down, right)
        for down in range(-2, 3)
        for right in range(-2, 3)
    }
    seen = set()
    for seed in range(400):
        result = crop(PIXELS, np.random.default_rng(seed))
        assert result.is_contiguous()
        found = [shift for shift, expected in shifts.items() if torch.equal(result, expected)]
        assert len(found) == 1
        seen.add(found[0])
    assert seen == set(shifts)


def test_the_input_is_kept():
    before = PIXELS.clone()
    PadCrop(padding=3)(PIXELS, np.random.default_rng(0))
    assert torch.equal(PIXELS, before)


@pytest.mark.parametrize("padding", [0, -1])
def test_a_padding_below_one_pixel_is_refused(padding):
    with pytest.raises(ConfigError, match=f"pad_crop: padding is {padding}; expected at least 1"):
        PadCrop(padding=padding)


def test_a_copy_from_a_pickle_makes_the_same_images(global_random_state):
    crop = PadCrop(padding=4)
    copy = pickle.loads(pickle.dumps(crop))
    before = global_random_state()
    for seed in range(10):
        assert torch.equal(*(c(PIXELS, np.random.default_rng(seed)) for c in (crop, copy)))
    assert global_random_state() == before
