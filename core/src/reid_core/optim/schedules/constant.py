"""The schedule that changes nothing."""

from __future__ import annotations


class Constant:
    """The base learning rate throughout."""

    def factor(self, epoch: float) -> float:
        """Return 1."""
        return 1.0
