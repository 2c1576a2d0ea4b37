"""Which rows of a batch form a positive or a negative pair."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Pairs:
    """The pairs of each row, the anchor, with M other vectors.

    Args:
        positive: (B, M) bool, of one identity and not the anchor itself.
        negative: (B, M) bool, of another identity.
    """

    positive: Tensor
    negative: Tensor

    @property
    def has_both(self) -> Tensor:
        """(B,) bool, which anchors have a positive and a negative."""
        return self.positive.any(dim=1) & self.negative.any(dim=1)

    def of_complete_anchors(self) -> Pairs:
        """Return the pairs without those of anchors that lack a positive or a negative."""
        kept = self.has_both.unsqueeze(1)
        return Pairs(self.positive & kept, self.negative & kept)


def pairs_of(pids: Tensor) -> Pairs:
    """Return the pairs of a batch with itself; no row is its own positive.

    Args:
        pids: (B,) integer labels.

    Returns:
        Both masks (B, B).
    """
    is_same = pids.unsqueeze(0) == pids.unsqueeze(1)
    is_self = torch.eye(len(pids), dtype=torch.bool, device=pids.device)
    return Pairs(positive=is_same & ~is_self, negative=~is_same)
