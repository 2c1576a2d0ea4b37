"""Sums over a masked part of a matrix; none of them waits for the device."""

from __future__ import annotations

import torch
from torch import Tensor

#: Stands for −∞: the gradient of log Σ exp over nothing but −∞ is, by its formula, 0/0.
_FLOOR = -1e8


def mean_where(values: Tensor, is_counted: Tensor) -> Tensor:
    """Average the entries that are counted.

    Args:
        values: Any shape, floating point.
        is_counted: bool, broadcast to that shape.

    Returns:
        (), 0 and connected to ``values`` where nothing is counted.
    """
    counted = is_counted.expand_as(values)
    kept = torch.where(counted, values, torch.zeros_like(values))
    return kept.sum() / counted.sum().clamp(min=1)


def mean_of_nonzero(values: Tensor, is_counted: Tensor) -> Tensor:
    """Average the counted entries that are not 0, for costs that mining has emptied.

    Args:
        values: Any shape, floating point.
        is_counted: bool, broadcast to that shape.

    Returns:
        (), 0 and connected to ``values`` where there is none.
    """
    return mean_where(values, is_counted & (values.detach() != 0))


def log_sum_exp_where(values: Tensor, is_counted: Tensor, dim: int = 1) -> Tensor:
    """Return log Σ exp over the entries that are counted.

    Args:
        values: (B, M) float32 or float64.
        is_counted: (B, M) bool.
        dim: The dimension that is summed over.

    Returns:
        (B,), about −1e8 with gradient 0 where nothing is counted: ``softplus`` of it is 0.
    """
    return values.masked_fill(~is_counted, _FLOOR).logsumexp(dim=dim)
