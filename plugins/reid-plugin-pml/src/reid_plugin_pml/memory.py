"""The library's memory of earlier batches, with a state that a run can save."""

from __future__ import annotations

import importlib

import torch
from torch import Tensor, nn

from reid_core.errors import ConfigError


class RememberingLoss(nn.Module):
    """A loss between the features of a batch and those of the last ``size`` rows.

    The batch itself is remembered first, and a row is not compared with itself.

    Args:
        loss: A loss of pytorch-metric-learning that can compare with a reference.
        embedding_size: Length D of the features.
        size: Rows that are remembered.
        miner: Mines among the batch and the memory; None takes all pairs.

    Raises:
        ConfigError: The loss cannot be used with a memory.

    Source: Wang et al., "Cross-Batch Memory for Embedding Learning", CVPR 2020.
    """

    position: Tensor

    def __init__(
        self, *, loss: nn.Module, embedding_size: int, size: int, miner: nn.Module | None
    ) -> None:
        super().__init__()
        cls = importlib.import_module("pytorch_metric_learning.losses").CrossBatchMemory
        name = type(loss).__name__
        if name not in cls.supported_losses():
            raise ConfigError(
                f"pml: {name} cannot compare with a memory; leave memory out, or take one of "
                f"{', '.join(cls.supported_losses())}"
            )
        self.size = size
        self.memory = cls(loss, embedding_size, memory_size=size, miner=miner)
        # Where the next rows go, and whether all have been used: numbers of Python in the library,
        # so that they would be missing from the state.
        self.register_buffer("position", torch.zeros(2, dtype=torch.int64))

    def forward(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        """Remember the rows, and compute the loss.

        Args:
            embeddings: (B, D) floating point, B at most ``size``.
            labels: (B,) int64.

        Returns:
            What the loss returns.

        Raises:
            ConfigError: The batch is larger than the memory.
        """
        if len(embeddings) > self.size:
            raise ConfigError(
                f"pml: memory is {self.size}, less than a batch of {len(embeddings)}; set it to at "
                f"least {len(embeddings)}"
            )
        # Whoever loads a state, or takes a step back, sets buffers and no numbers of the library.
        index, has_been_filled = self.position.tolist()
        self.memory.queue_idx = index
        self.memory.has_been_filled = bool(has_been_filled)
        value: Tensor = self.memory(embeddings, labels)
        self.position[0] = self.memory.queue_idx
        self.position[1] = int(self.memory.has_been_filled)
        return value
