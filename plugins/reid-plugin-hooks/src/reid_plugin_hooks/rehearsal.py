"""A step that is tried out and taken back, to see whether memory suffices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from reid_plugin_hooks.undisturbed import undisturbed

if TYPE_CHECKING:
    from reid_core import DefaultTrainer
    from reid_core.contracts import Batch


def rehearse(trainer: DefaultTrainer, batch: Batch, parameters: Sequence[nn.Parameter]) -> None:
    """Compute losses and gradients as they will be after a release, and forget them.

    Args:
        trainer: The run; nothing of it changes.
        batch: The batch to do it with.
        parameters: What is released later, requiring gradients now: what the optimizer will keep of
            them is made room for.

    Raises:
        torch.OutOfMemoryError: Memory does not suffice; a note says for what.
    """
    # It counts its backward passes, and this is none that an update follows.
    scaler, trainer.scaler = trainer.scaler, None
    try:
        with undisturbed(trainer.model):
            room = _room_for_state(trainer.optimizer, parameters)
            # In chunks, where a step is done in chunks.
            trainer.compute_gradients(batch)
            del room
    except torch.OutOfMemoryError as error:
        error.add_note(
            "hook freeze: this was a rehearsal of the steps after the release, which need more "
            "memory than the frozen ones; make the batch smaller"
        )
        raise
    finally:
        trainer.scaler = scaler
        for parameter in trainer.model.parameters():
            parameter.grad = None


def _room_for_state(
    optimizer: torch.optim.Optimizer, parameters: Sequence[nn.Parameter]
) -> list[Tensor]:
    """Allocate what an optimizer keeps of each parameter: two moments, or one, or nothing."""
    copies = {id(p): _copies(group) for group in optimizer.param_groups for p in group["params"]}
    return [torch.empty_like(p) for p in parameters for _ in range(copies.get(id(p), 0))]


def _copies(group: Mapping[str, object]) -> int:
    return 2 if "betas" in group else int(bool(group.get("momentum")))
