"""The number format that a run computes in."""

from __future__ import annotations

import logging
from typing import Literal

import torch

from reid_core.engine.step.loss_scaler import LossScaler

log = logging.getLogger("reid_core")

#: Devices that compute in float16; elsewhere it is slow, or not there at all.
_HALF_DEVICES = ("cuda", "xpu")


def autocast_dtype(
    precision: Literal["fp32", "bf16", "fp16"], device: torch.device
) -> torch.dtype | None:
    """Return the format of a precision on a device.

    Args:
        precision: As the configuration has it; ``fp16`` is ``bf16`` on a device without float16,
            which is said in a warning.
        device: Where the model is.

    Returns:
        The format, or None for float32 throughout.
    """
    if precision == "fp32":
        return None
    if precision == "fp16" and device.type in _HALF_DEVICES:
        return torch.float16
    if precision == "fp16":
        log.warning(
            "train.precision is fp16, which %s does not compute in: bf16 is used instead; set "
            "train.precision=bf16 to leave this line out",
            device.type,
        )
    return torch.bfloat16


def loss_scaler(dtype: torch.dtype | None, device: torch.device) -> LossScaler | None:
    """Return the scaler that a format needs: float16 has one, the others none."""
    return LossScaler(device) if dtype == torch.float16 else None
