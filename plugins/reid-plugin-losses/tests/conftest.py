"""Reference numbers and comparisons shared by the tests of this folder."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from reid_core.contracts import Batch, HeadOutput

GOLDEN = Path("shared/golden/losses_heads.npz")


@pytest.fixture(scope="session")
def golden() -> Mapping[str, Tensor]:
    """Values that FastReID (commit c9bc3ce) computes on random inputs, by name."""
    path = next((up / GOLDEN for up in Path(__file__).parents if (up / GOLDEN).is_file()), None)
    if path is None:
        pytest.skip(f"{GOLDEN} is in no folder above this one")
    with np.load(path) as file:
        return {key: torch.from_numpy(file[key]) for key in file.files}


@pytest.fixture(scope="session")
def make_batch() -> Callable[[Tensor], Batch]:
    """Return a function from labels (B,) to a batch that holds them; losses read nothing else."""

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
def agrees_with_loops(
    make_batch: Callable[[Tensor], Batch],
) -> Callable[[nn.Module, Callable[[Tensor, list[int]], Tensor]], None]:
    """Return a function that compares a loss with a reference on random batches.

    The reference takes features (B, D) float64 and labels, and works with plain loops; its gradient
    is that of autograd. Some of the batches have identities with one image, or of equal images.
    """

    def compare(loss: nn.Module, reference: Callable[[Tensor, list[int]], Tensor]) -> None:
        for seed in range(6):
            generator = torch.Generator().manual_seed(seed)
            # Few dimensions: cosines spread, so that no margin is out of reach.
            given = torch.randn(11, 3 + seed, generator=generator).double()
            pids = torch.randint(3 + seed, (11,), generator=generator)
            ours, theirs = (given.clone().requires_grad_() for _ in range(2))
            value = loss(HeadOutput(ours, {"global": ours}), make_batch(pids))
            expected = reference(theirs, pids.tolist())
            # torch's softplus leaves out what is below 2e-9.
            torch.testing.assert_close(value, expected, rtol=1e-7, atol=1e-9)
            (found,) = torch.autograd.grad(value, ours)
            (wanted,) = torch.autograd.grad(expected, theirs)
            torch.testing.assert_close(found, wanted, rtol=1e-6, atol=1e-8)

    return compare


@pytest.fixture(scope="session")
def reproduces(
    golden: Mapping[str, Tensor], make_batch: Callable[[Tensor], Batch]
) -> Callable[[nn.Module, str], None]:
    """Return a function that compares a loss, value and gradient, with a reference number."""

    def compare(loss: nn.Module, key: str) -> None:
        is_of_classes = key.startswith(("focal", "cross_entropy"))
        leaf = golden["logits" if is_of_classes else "features"].clone().requires_grad_()
        group = {"logits" if is_of_classes else "features": {"global": leaf}}
        output = HeadOutput(embedding=leaf, **{"features": {}, **group})
        value = loss(output, make_batch(golden["labels"]))
        value.backward()
        torch.testing.assert_close(value.detach(), golden[key], rtol=1e-4, atol=0.0)
        expected = golden[f"{key}.grad"]
        # What is 1e-5 of the largest entry is rounding of the reference.
        floor = 1e-5 * expected.abs().max().item()
        torch.testing.assert_close(leaf.grad, expected, rtol=1e-4, atol=floor)

    return compare
