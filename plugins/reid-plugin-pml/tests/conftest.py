"""Features of the head, and their batch, for the tests of this folder."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from reid_core.contracts import Batch, HeadOutput


@pytest.fixture(scope="session")
def make_batch() -> Callable[[Tensor], Batch]:
    """Return a function from labels (B,) to a batch that holds them."""

    def make(pids: Tensor) -> Batch:
        rows = len(pids)
        return Batch(
            images=torch.zeros(rows, 3, 1, 1),
            pids=pids,
            camids=torch.zeros(rows, dtype=torch.int64),
            index=torch.arange(rows),
        )

    return make


@pytest.fixture(scope="session")
def make_output() -> Callable[..., HeadOutput]:
    """Return a function from features by name to what a head would give."""

    def make(**features: Tensor) -> HeadOutput:
        return HeadOutput(embedding=next(iter(features.values())), features=features)

    return make


@pytest.fixture
def pids() -> Tensor:
    """6 identities with 4 images each."""
    return torch.arange(24) // 4


@pytest.fixture
def features() -> Tensor:
    """(24, 16) float32 with a gradient."""
    return torch.randn(24, 16, generator=torch.Generator().manual_seed(0)).requires_grad_()
