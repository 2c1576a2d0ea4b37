"""The device a run uses."""

from __future__ import annotations

import torch

from reid_core.errors import ConfigError


def pick_device(name: str) -> torch.device:
    """Return the device that a config names.

    Args:
        name: ``auto`` takes the accelerator if one is there and usable, else the CPU; otherwise
            torch's own spelling: ``cpu``, ``cuda``, ``cuda:1``, ``mps``.

    Raises:
        ConfigError: No such device on this machine.
    """
    if name == "auto":
        # Without check_available a CUDA build answers "cuda" on a machine that has no GPU.
        accelerator = torch.accelerator.current_accelerator(check_available=True)
        return accelerator or torch.device("cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        here = torch.accelerator.current_accelerator(check_available=True)
        usable = "auto, cpu" if here is None else f"auto, cpu, {here.type}, {here.type}:0 and so on"
        raise ConfigError(
            f"device {name!r} cannot be used on this machine; expected one of: {usable}"
        ) from error
    return device
