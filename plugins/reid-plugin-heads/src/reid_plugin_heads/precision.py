"""Where half precision would lose what a head compares: parts computed in float32."""

from __future__ import annotations

import torch
from torch import Tensor


def at_least_float32(*tensors: Tensor) -> torch.dtype:
    """Return the type to compute ``tensors`` in: float32, or float64 when one of them is.

    Args:
        *tensors: Any shapes, floating point.
    """
    dtype = torch.float32
    for tensor in tensors:
        dtype = torch.promote_types(dtype, tensor.dtype)
    return dtype


def full_precision(values: Tensor) -> torch.autocast:
    """Return a context in which operations on the device of ``values`` are not autocast."""
    return torch.autocast(device_type=values.device.type, enabled=False)
