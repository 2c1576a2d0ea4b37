"""Grey, blurred and compressed images."""

import io
import math

import numpy as np
import pytest
import torch
from PIL import Image

from reid_core.data.transforms.gaussian_blur import GaussianBlur
from reid_core.data.transforms.jpeg_compression import JpegCompression
from reid_core.data.transforms.random_grayscale import RandomGrayscale
from reid_core.errors import ConfigError


def test_grey_is_the_weighted_sum_of_the_channels(photo):
    image = photo(12, 8)
    grey = RandomGrayscale(probability=1.0)(image, np.random.default_rng(0))
    assert grey.shape == image.shape
    for y in range(12):
        for x in range(8):
            red, green, blue = image[:, y, x].tolist()
            expected = 0.2989 * red + 0.587 * green + 0.114 * blue
            assert len(set(grey[:, y, x].tolist())) == 1
            assert abs(int(grey[0, y, x]) - expected) <= 1


def test_blur_is_the_gaussian_mean_of_the_mirrored_image(photo):
    image = photo(12, 9)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        rng.random()
        sigma = rng.uniform(0.5, 3.0)
        made = GaussianBlur(probability=1.0, kernel_size=5, sigma=(0.5, 3.0))(
            image, np.random.default_rng(seed)
        )
        weights = np.array([math.exp(-(d**2) / (2 * sigma**2)) for d in range(-2, 3)])
        weights /= weights.sum()
        padded = np.pad(image.numpy(), ((0, 0), (2, 2), (2, 2)), mode="reflect")
        for y in range(12):
            for x in range(9):
                window = padded[:, y : y + 5, x : x + 5]
                expected = np.einsum("cyx,y,x->c", window, weights, weights)
                assert np.abs(made[:, y, x].numpy() - expected).max() <= 0.51


def test_compression_is_what_a_jpeg_of_that_quality_gives(photo):
    image = photo(32, 24)
    compress = JpegCompression(probability=1.0, quality=(5, 60))
    errors = {}
    for seed in range(12):
        rng = np.random.default_rng(seed)
        rng.random()
        quality = int(rng.integers(5, 61))
        made = compress(image, np.random.default_rng(seed))
        file = io.BytesIO()
        Image.fromarray(image.permute(1, 2, 0).numpy()).save(file, "JPEG", quality=quality)
        expected = np.asarray(Image.open(file))
        assert np.array_equal(made.permute(1, 2, 0).numpy(), expected)
        errors[quality] = (made.float() - image.float()).abs().mean()
    assert errors[min(errors)] > errors[max(errors)]


@pytest.mark.parametrize("kind", [RandomGrayscale, GaussianBlur, JpegCompression])
def test_the_probability_is_kept(kind, photo):
    image = photo(16, 12)
    transform = kind(probability=0.3)
    same = [
        torch.equal(transform(image, np.random.default_rng(seed)), image) for seed in range(200)
    ]
    assert 0.55 < np.mean(same) < 0.85


@pytest.mark.parametrize(
    ("kind", "keywords", "message"),
    [
        (RandomGrayscale, {"probability": 2}, "random_grayscale: probability is 2"),
        (GaussianBlur, {"kernel_size": 4}, "gaussian_blur: kernel_size is 4; expected an odd"),
        (GaussianBlur, {"kernel_size": 1}, "at least 3"),
        (GaussianBlur, {"sigma": (0.0, 1.0)}, r"sigma is \(0.0, 1.0\)"),
        (
            GaussianBlur,
            {"kernel_size": 41, "image_size": (40, 20)},
            "kernel_size is 41, more than images of 40 × 20 pixels can mirror",
        ),
        (JpegCompression, {"quality": (0, 50)}, r"jpeg_compression: quality is \(0, 50\)"),
        (JpegCompression, {"quality": (60, 50)}, "1 <= low <= high <= 100"),
    ],
)
def test_values_out_of_range_are_refused(kind, keywords, message):
    with pytest.raises(ConfigError, match=message):
        kind(**keywords)
