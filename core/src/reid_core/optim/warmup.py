"""The rise of the learning rate at the start of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Warmup:
    """The factor on the learning rate before the schedule takes over.

    Args:
        length: Its length in steps or, with ``by_epoch``, in epochs; 0 for none.
        by_epoch: Whether the factor moves only from epoch to epoch.
        first: Factor at its beginning, above 0 and at most 1.
        method: ``constant`` stays at ``first``; ``linear`` and ``exponential`` rise to 1, by the
            same amount or by the same factor each time.
    """

    length: float = 0
    by_epoch: bool = False
    first: float = 1.0
    method: Literal["constant", "linear", "exponential"] = "linear"

    def factor(self, count: float) -> float | None:
        """Return the factor after ``count`` steps or epochs, or None once it is over."""
        if count >= self.length:
            return None
        left = 1 - count / self.length
        if self.method == "constant":
            return self.first
        if self.method == "exponential":
            return float(self.first**left)
        return 1 + (self.first - 1) * left
