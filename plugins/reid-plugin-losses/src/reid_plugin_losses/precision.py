"""Losses are computed in float32, whatever the model runs in."""

from __future__ import annotations

import torch
from torch import Tensor


def at_least_float32(values: Tensor) -> Tensor:
    """Return ``values`` as float32, or unchanged when they are float32 or float64.

    Args:
        values: Any shape, floating point.

    Returns:
        The same shape, float32 or float64.
    """
    return values.to(torch.promote_types(values.dtype, torch.float32))


def full_precision(values: Tensor) -> torch.autocast:
    """Return a context in which operations on the device of ``values`` are not autocast."""
    return torch.autocast(device_type=values.device.type, enabled=False)
