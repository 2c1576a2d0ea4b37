"""A truth value that is computed on a device, and read later without stopping it."""

from __future__ import annotations

import torch
from torch import Tensor


class DeviceFlag:
    """Copies a flag to the host behind the work that computes it.

    Reading it waits for that work alone, not for what was given to the device since.

    Args:
        flag: () bool, on any device.
    """

    def __init__(self, flag: Tensor) -> None:
        self._event: torch.Event | None = None
        self._value = flag
        if flag.device.type != "cpu":
            self._value = flag.to("cpu", non_blocking=True)
            self._event = torch.Event(flag.device.type)
            self._event.record()

    def read(self) -> bool:
        """Return the value, once it is there."""
        if self._event is not None:
            self._event.synchronize()
        return bool(self._value)
