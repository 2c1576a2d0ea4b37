"""Gradient checkpointing: memory for time."""

from __future__ import annotations

import logging
from typing import Protocol, cast

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from reid_core.errors import ConfigError

_log = logging.getLogger(__name__)


class _Checkpointed(Protocol):
    def set_grad_checkpointing(self, enable: bool = True) -> None: ...


def set_checkpointing(network: nn.Module, *, name: str, enable: bool) -> None:
    """Let the network compute its blocks a second time in the backward pass.

    Activations inside a block are not kept. Gradients stay the same, but batch statistics are
    updated in both passes.

    Args:
        network: A timm model.
        name: The model's name, for messages.
        enable: False lets it keep them again.

    Raises:
        ConfigError: timm does not offer it for this architecture.
    """
    try:
        cast("_Checkpointed", network).set_grad_checkpointing(enable)
    except (AssertionError, AttributeError, TypeError, NotImplementedError) as error:
        raise ConfigError(
            f"gradient_checkpointing: timm does not offer it for {name!r} "
            f"({type(network).__name__}): {str(error).strip() or type(error).__name__}. Remove "
            "gradient_checkpointing"
        ) from error
    if enable and any(isinstance(module, _BatchNorm) for module in network.modules()):
        _log.warning(
            "%s: gradient checkpointing runs each block twice a step, and its batch normalisation "
            "then moves its statistics twice; gradients are the same",
            name,
        )
