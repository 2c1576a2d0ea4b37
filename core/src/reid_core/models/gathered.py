"""What the heads made of the batches of all processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch.distributed as dist
from torch import Tensor

from reid_core.contracts import Batch, HeadOutput
from reid_core.distributed.tensors import gathered, gathered_with_gradient


def is_in_several_processes() -> bool:
    """Say whether there are batches of other processes."""
    return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1


def gathered_output(output: HeadOutput) -> HeadOutput:
    """Return the outputs of all processes, in the order of their ranks.

    The gradient of a loss that every process computes of it is right once it was averaged.

    Args:
        output: Of this process' share of the batch; as large as every other one's.
    """
    return HeadOutput(
        embedding=_rows(output.embedding),
        features=_all(output.features),
        logits=_all(output.logits),
        scores=None if output.scores is None else _all(output.scores),
        attributes=None if output.attributes is None else _rows(output.attributes),
    )


def gathered_batch(batch: Batch) -> Batch:
    """Return the batch of all processes; without the pixels, which would be most of what is sent.

    Args:
        batch: This process' share.

    Returns:
        Images (N, 3, 0, 0), and all else of the N rows in the order of ranks.
    """
    pids = gathered(batch.pids)
    return replace(
        batch,
        images=batch.images.new_empty((len(pids), batch.images.shape[1], 0, 0)),
        pids=pids,
        camids=gathered(batch.camids),
        index=gathered(batch.index),
        columns={name: gathered(column) for name, column in sorted(batch.columns.items())},
    )


def _all(values: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: _rows(value) for name, value in values.items()}


def _rows(value: Tensor) -> Tensor:
    return gathered_with_gradient(value) if value.requires_grad else gathered(value)
