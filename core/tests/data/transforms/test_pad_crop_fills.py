import numpy as np
import pytest
import torch

from reid_core.data.transforms.pad_crop import PadCrop

NUMPY_MODES = {"edge": "edge", "reflect": "reflect", "symmetric": "symmetric"}


def slow_crop(image, padding, seed, fill, colour):
    """Pad with numpy, and cut the window that the generator names."""
    top, left = np.random.default_rng(seed).integers(0, 2 * padding + 1, size=2)
    borders = ((0, 0), (padding, padding), (padding, padding))
    if fill in NUMPY_MODES:
        padded = np.pad(image.numpy(), borders, mode=NUMPY_MODES[fill])
    else:
        padded = np.stack(
            [
                np.pad(plane, borders[1:], constant_values=value)
                for plane, value in zip(image.numpy(), colour, strict=True)
            ]
        )
    _, height, width = image.shape
    return padded[:, top : top + height, left : left + width]


@pytest.mark.parametrize("fill", ["black", "mean", "edge", "reflect", "symmetric"])
@pytest.mark.parametrize("padding", [3, 25])  # the second is more than the image has
def test_what_comes_in_at_the_edges_is_the_fill(fill, padding, photo):
    image = photo(17, 11)
    crop = PadCrop(padding=padding, fill=fill, image_mean=(0.1, 0.5, 0.9))
    colour = (26, 128, 230) if fill == "mean" else (0, 0, 0)
    last = image.permute(1, 2, 0).contiguous().permute(2, 0, 1)
    for seed in range(25):
        expected = slow_crop(image, padding, seed, fill, colour)
        for given in (image, last):
            made = crop(given, np.random.default_rng(seed))
            assert np.array_equal(made.numpy(), expected)


def test_a_single_row_is_its_own_mirror_image():
    image = torch.full((3, 1, 4), 7, dtype=torch.uint8)
    for fill in ("reflect", "symmetric", "edge"):
        made = PadCrop(padding=5, fill=fill)(image, np.random.default_rng(1))
        assert torch.equal(made, image)
