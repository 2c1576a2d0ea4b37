"""What a loss reads, changed for a check: other numbers, other rows, other names of classes."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from reid_core.contracts import Batch, HeadOutput


def map_output(output: HeadOutput, change: Callable[[Tensor], Tensor]) -> HeadOutput:
    """Return an output of changed embedding, features, logits and attributes."""
    attributes = output.attributes
    return HeadOutput(
        embedding=change(output.embedding),
        features={name: change(value) for name, value in output.features.items()},
        logits={name: change(value) for name, value in output.logits.items()},
        attributes=None if attributes is None else change(attributes),
    )


def take_rows(batch: Batch, rows: Tensor) -> Batch:
    """Return some rows of a batch, in the order given.

    Args:
        batch: B rows.
        rows: (M,) int64.
    """
    return Batch(
        images=batch.images[rows],
        pids=batch.pids[rows],
        camids=batch.camids[rows],
        index=batch.index[rows],
        columns={name: column[rows] for name, column in batch.columns.items()},
    )


def permute_classes(module: nn.Module, old: Tensor) -> None:
    """Permute whatever a loss keeps for each class, along every dimension of that size.

    Args:
        module: The loss; changed in place.
        old: (num_classes,) the old number of each class, by its new one.
    """
    with torch.no_grad():
        for tensor in (*module.parameters(), *module.buffers()):
            for dimension, size in enumerate(tensor.shape):
                if size == len(old):
                    tensor.copy_(tensor.index_select(dimension, old))
