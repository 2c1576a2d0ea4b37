"""Images to try transforms on, and what all of them promise."""

from __future__ import annotations

import numpy as np
import pytest
import torch


@pytest.fixture
def photo():
    """``photo(height, width)`` makes an image of soft colours and a little noise."""

    def make(height=32, width=20, seed=0):
        rng = np.random.default_rng(seed)
        y, x = np.mgrid[0:height, 0:width]
        waves = [np.sin(x / 3 + c) + np.cos(y / 5 - c) for c in range(3)]
        pixels = 128 + 50 * np.stack(waves) + rng.normal(0, 8, (3, height, width))
        return torch.from_numpy(pixels.clip(0, 255).astype(np.uint8))

    return make


@pytest.fixture
def normal_batch():
    """``normal_batch(count, height, width)`` makes normalised images, all pixels different."""

    def make(count=8, height=32, width=20):
        generator = torch.Generator().manual_seed(0)
        return torch.randn((count, 3, height, width), generator=generator)

    return make
