import numpy as np
import pytest
import torch

from reid_core.data.transforms.random_lighting import RandomLighting
from reid_core.errors import ConfigError

# Krizhevsky et al. 2012, as the field's code has them: one eigenvector a column.
EIGENVALUES = (0.2175, 0.0188, 0.0045)
EIGENVECTORS = (
    (-0.5675, 0.7192, 0.4009),
    (-0.5808, -0.0045, -0.8140),
    (-0.5836, -0.6948, 0.4203),
)
STD = (0.2, 0.4, 0.5)


def test_one_colour_is_added_to_all_pixels_of_an_image(normal_batch):
    before = normal_batch(5, 6, 4)
    rng = np.random.default_rng(3)
    rng.random(5)
    alpha = rng.normal(0, 0.5, (5, 3))
    made = RandomLighting(probability=1.0, strength=0.5, image_std=STD)(
        before.clone(), np.random.default_rng(3)
    )
    for row in range(5):
        for channel in range(3):
            added = sum(EIGENVECTORS[channel][i] * EIGENVALUES[i] * alpha[row, i] for i in range(3))
            expected = before[row, channel] + added / STD[channel]
            torch.testing.assert_close(made[row, channel], expected, rtol=1e-5, atol=1e-6)


def test_the_probability_is_kept(normal_batch):
    before = normal_batch(300, 2, 2)
    made = RandomLighting(probability=0.3)(before.clone(), np.random.default_rng(0))
    assert 0.2 < (made != before).flatten(1).any(dim=1).float().mean() < 0.4


def test_a_negative_strength_is_refused():
    with pytest.raises(ConfigError, match="random_lighting: strength is -1; expected 0 or more"):
        RandomLighting(strength=-1)
