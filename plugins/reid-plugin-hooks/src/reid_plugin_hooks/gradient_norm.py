"""The length of the gradient, in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from reid_core.errors import ConfigError
from reid_core.hookspecs import hookimpl

if TYPE_CHECKING:
    from reid_core import DefaultTrainer


class GradientNorm:
    """Logs the Euclidean norm of the gradient of all parameters together, as ``gradient_norm``.

    It is measured when all gradients are there and before anything changes them, of one step in
    ``every``; measuring makes the host wait for the device, so not in each.

    Args:
        every: Steps between two values, at least 1.

    Raises:
        ConfigError: ``every`` is below 1.
    """

    observer = True
    needs_whole_weights = True

    def __init__(self, *, every: int = 10) -> None:
        if every < 1:
            raise ConfigError(f"hook gradient_norm: every is {every}; expected at least 1")
        self._every = every
        self._norm: Tensor | None = None

    @hookimpl(tryfirst=True)
    def after_backward(self, trainer: DefaultTrainer, step: int) -> None:
        """Measure, on the device."""
        if (step + 1) % self._every:
            return
        gradients = [p.grad for p in trainer.model.parameters() if p.grad is not None]
        self._norm = torch.nn.utils.get_total_norm(gradients)

    @hookimpl
    def after_step(self, trainer: DefaultTrainer, step: int) -> None:
        """Log what was measured."""
        if self._norm is not None:
            trainer.log_scalars(step + 1, {"gradient_norm": self._norm.item()})
            self._norm = None
