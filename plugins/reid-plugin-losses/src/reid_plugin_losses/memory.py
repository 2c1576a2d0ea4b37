"""Features of earlier batches, in a ring."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class FeatureMemory(nn.Module):
    """Keep the last ``size`` features with their labels; part of the state, so resuming is exact.

    Args:
        size: Entries M, at least 1.
        feature_dim: Length D of a feature.
    """

    features: Tensor
    pids: Tensor
    index: Tensor
    num_seen: Tensor

    def __init__(self, size: int, feature_dim: int) -> None:
        super().__init__()
        self.register_buffer("features", torch.zeros(size, feature_dim))
        self.register_buffer("pids", torch.full((size,), -1))
        self.register_buffer("index", torch.full((size,), -1))
        self.register_buffer("num_seen", torch.zeros((), dtype=torch.int64))

    @property
    def is_filled(self) -> Tensor:
        """(M,) bool, which entries hold a feature."""
        rows = torch.arange(len(self.pids), device=self.pids.device)
        return rows < self.num_seen

    @torch.no_grad()
    def push(self, features: Tensor, pids: Tensor, index: Tensor) -> None:
        """Put a batch in the place of the oldest entries; of a batch above M, its last M rows.

        Args:
            features: (B, D) floating point.
            pids: (B,) int64 labels.
            index: (B,) int64 rows in the data set.
        """
        size, rows = len(self.pids), len(pids)
        kept = min(size, rows)
        # Where the next entry goes stays on the device: no step waits for it.
        first = self.num_seen + rows - kept
        places = (first + torch.arange(kept, device=self.pids.device)) % size
        self.features.index_copy_(0, places, features[rows - kept :].to(self.features.dtype))
        self.pids.index_copy_(0, places, pids[rows - kept :])
        self.index.index_copy_(0, places, index[rows - kept :])
        self.num_seen += rows
