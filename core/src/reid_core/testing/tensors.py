"""Small questions about tensors."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor


def describe(value: object) -> str:
    """Say what a value is: shape and dtype of a tensor, type of anything else."""
    if isinstance(value, Tensor):
        return f"{tuple(value.shape)} {str(value.dtype).removeprefix('torch.')}"
    return f"a {type(value).__name__}"


def largest_difference(left: Tensor, right: Tensor) -> float:
    """Return the largest difference of two tensors of one shape, in units of the largest value.

    Args:
        left: Any shape, floating point.
        right: The same shape.

    Returns:
        0 for equal tensors; infinite where one is not finite and the other differs from it.
    """
    if torch.equal(left, right) or left.numel() == 0:
        return 0.0
    first, second = left.detach().double(), right.detach().double()
    difference = (first - second).abs().max()
    scale = torch.maximum(first.abs().max(), second.abs().max())
    ratio = float(difference / scale.clamp(min=1e-12))
    return ratio if ratio == ratio else float("inf")


def objective(outputs: Mapping[str, Tensor]) -> Tensor:
    """Return a scalar that depends on every number of the outputs, with another weight each.

    A plain sum would not do: behind a batch normalisation it is a constant.

    Args:
        outputs: Floating point tensors by name.
    """
    total = torch.zeros(())
    generator = torch.Generator().manual_seed(0)
    for value in outputs.values():
        weights = torch.randn(value.shape, generator=generator)
        total = total + (value.float() * weights).mean()
    return total


def random_normal(shape: tuple[int, ...], seed: int) -> Tensor:
    """Return float32 numbers of a normal distribution, without the global generator."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))
