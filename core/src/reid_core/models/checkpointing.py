"""Gradient checkpointing of a backbone."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from torch import nn

from reid_core.errors import ConfigError
from reid_core.plugins.origin import origin_of


@runtime_checkable
class Checkpointable(Protocol):
    """What can compute its activations again in the backward pass, instead of keeping them."""

    def set_grad_checkpointing(self, enable: bool = True) -> None:
        """Switch it on or off; gradients are the same either way."""
        ...


def checkpoint_activations(module: nn.Module, what: str) -> None:
    """Let a backbone, or a model without one, keep fewer activations.

    Args:
        module: The backbone; before a model takes it apart.
        what: What it is called, for the message.

    Raises:
        ConfigError: It cannot.
    """
    if not isinstance(module, Checkpointable):
        raise ConfigError(
            f"train.gradient_checkpointing: {what} ({origin_of(module)}) does not offer it (no "
            "method set_grad_checkpointing); set train.gradient_checkpointing=false, or save "
            "memory by train.micro_batch"
        )
    module.set_grad_checkpointing(True)
