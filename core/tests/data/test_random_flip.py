import pickle

import numpy as np
import pytest
import torch

from reid_core.data.transforms.random_flip import RandomFlip
from reid_core.errors import ConfigError


def image():
    return torch.randint(0, 256, (3, 5, 4), dtype=torch.uint8, generator=torch.manual_seed(0))


def slow_mirror(pixels):
    mirrored = pixels.clone()
    width = pixels.shape[-1]
    for column in range(width):
        mirrored[:, :, column] = pixels[:, :, width - 1 - column]
    return mirrored


def test_probability_one_mirrors_left_and_right():
    pixels = image()
    flipped = RandomFlip(probability=1.0)(pixels, np.random.default_rng(0))
    assert torch.equal(flipped, slow_mirror(pixels))
    assert torch.equal(pixels, image()), "the input was changed"


def test_probability_zero_changes_nothing():
    for seed in range(20):
        flipped = RandomFlip(probability=0.0)(image(), np.random.default_rng(seed))
        assert torch.equal(flipped, image())


def test_one_half_mirrors_about_half_of_the_images():
    flip, rng, pixels = RandomFlip(), np.random.default_rng(0), image()
    mirrored = sum(not torch.equal(flip(pixels, rng), pixels) for _ in range(400))
    assert 160 < mirrored < 240


@pytest.mark.parametrize("probability", [-0.1, 1.1, float("nan")])
def test_no_probability_is_refused(probability):
    with pytest.raises(ConfigError, match=f"random_flip: probability is {probability}"):
        RandomFlip(probability=probability)


def test_a_copy_from_a_pickle_makes_the_same_images(global_random_state):
    flip = RandomFlip(probability=0.3)
    copy = pickle.loads(pickle.dumps(flip))
    before = global_random_state()
    for seed in range(10):
        ours, theirs = (f(image_once, np.random.default_rng(seed)) for f in (flip, copy))
        assert torch.equal(ours, theirs)
    assert global_random_state() == before


image_once = torch.arange(60, dtype=torch.uint8).view(3, 5, 4)
