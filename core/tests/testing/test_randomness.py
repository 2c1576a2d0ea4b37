import random

import numpy as np
import torch

from reid_core.checkpoint.random_state import random_state
from reid_core.testing.randomness import (
    moved_generators,
    reseeded_generators,
    seeded,
    used_generators,
)


def test_seeded_restores_what_was_before() -> None:
    before = random_state()
    with seeded(3):
        first = (random.random(), np.random.rand(), torch.rand(()).item())
    with seeded(3):
        assert (random.random(), np.random.rand(), torch.rand(()).item()) == first
    assert moved_generators(before, random_state()) == ()


def test_the_generators_that_are_used_are_named() -> None:
    assert used_generators(lambda: None) == ()
    assert used_generators(random.random) == ("python",)
    assert used_generators(np.random.rand) == ("numpy",)
    assert used_generators(lambda: torch.rand(())) == ("torch",)


def test_seeding_is_told_from_drawing() -> None:
    assert reseeded_generators(lambda: (random.random(), np.random.rand(), torch.rand(()))) == ()
    assert reseeded_generators(lambda: torch.manual_seed(0)) == ("torch",)
    assert reseeded_generators(lambda: (np.random.seed(0), random.seed(0))) == ("python", "numpy")
