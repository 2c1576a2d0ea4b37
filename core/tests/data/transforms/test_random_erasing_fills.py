"""What is written into the rectangle, and the whole image as one; B024."""

import numpy as np
import pytest
import torch

from reid_core.data.loader import Normalize
from reid_core.data.transforms.random_erasing import RandomErasing
from reid_core.errors import ConfigError

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
WHOLE = {"probability": 1.0, "area": (1.0, 1.0)}


def test_b024_the_whole_image_erased_with_the_mean_is_zero(normal_batch):
    erased = RandomErasing(**WHOLE)(normal_batch(), np.random.default_rng(0))
    assert torch.equal(erased, torch.zeros_like(erased))


@pytest.mark.parametrize(("mean", "std"), [(MEAN, STD), ((0.5, 0.25, 0.75), (0.5, 0.5, 0.1))])
def test_b024_black_is_what_the_normalisation_makes_of_it(mean, std, normal_batch):
    erasing = RandomErasing(**WHOLE, fill="black", image_mean=mean, image_std=std)
    erased = erasing(normal_batch(), np.random.default_rng(0))
    black = Normalize(mean, std)(torch.zeros(8, 3, 32, 20, dtype=torch.uint8))
    torch.testing.assert_close(erased, black, rtol=1e-6, atol=1e-6)
    if mean == MEAN:
        assert erased[0, 0, 0, 0].item() == pytest.approx(-2.117904, abs=1e-6)


def test_a_random_fill_is_one_normal_colour_a_rectangle(normal_batch):
    erased = RandomErasing(**WHOLE, fill="random")(
        normal_batch(600, 4, 4), np.random.default_rng(0)
    )
    colours = erased[:, :, 0, 0]
    assert torch.equal(erased, colours[:, :, None, None].expand_as(erased))
    assert abs(colours.mean()) < 0.1
    assert abs(colours.std() - 1) < 0.1
    assert np.abs(np.corrcoef(colours.T.numpy()) - np.eye(3)).max() < 0.15


def test_a_pixel_fill_is_a_normal_colour_a_pixel(normal_batch):
    before = normal_batch(4, 40, 40) + 100
    erased = RandomErasing(probability=1.0, area=(0.3, 0.3), fill="pixel")(
        before.clone(), np.random.default_rng(0)
    )
    is_new = erased < 50
    assert torch.equal(erased[~is_new], before[~is_new])
    values = erased[is_new]
    assert 0.25 < len(values) / erased.numel() < 0.35
    assert len(values.unique()) == len(values)
    assert abs(values.mean()) < 0.1
    assert abs(values.std() - 1) < 0.1


@pytest.mark.parametrize("fill", ["black", "random", "pixel"])
def test_the_rectangles_do_not_depend_on_the_fill_of_the_first_image(fill, normal_batch):
    before = normal_batch(1)
    masks = [
        RandomErasing(probability=1.0, fill=f)(before.clone(), np.random.default_rng(5)) != before
        for f in ("mean", fill)
    ]
    assert torch.equal(*masks)


def test_fields_of_other_frameworks_can_be_set(normal_batch):
    # TransReID: high and wide rectangles equally likely, ten attempts.
    erasing = RandomErasing(
        probability=1.0,
        area=(0.02, 1 / 3),
        aspect=(0.3, 1 / 0.3),
        aspect_draw="log",
        attempts=10,
    )
    highs = []
    for seed in range(40):
        before = normal_batch(8, 60, 60) + 100
        for image in erasing(before, np.random.default_rng(seed)):
            erased = (image == 0).all(dim=0)
            highs.append(int(erased.any(dim=1).sum()) > int(erased.any(dim=0).sum()))
    assert 0.4 < np.mean(highs) < 0.6


def test_only_both_shares_at_one_stand_for_the_whole_image():
    with pytest.raises(ConfigError, match="or 1 and 1 for the whole image"):
        RandomErasing(area=(0.5, 1.0))
    with pytest.raises(ConfigError, match="random_erasing: attempts is 0; expected at least 1"):
        RandomErasing(attempts=0)
