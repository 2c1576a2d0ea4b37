"""Rprop, with the weight decay that every optimizer here has."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, overload

import torch


class Rprop(torch.optim.Rprop):
    """``torch.optim.Rprop`` on the gradient plus ``weight_decay * w``.

    It is made for gradients of the whole data set, and ``lr`` is only the size of its first step: a
    schedule does not change what it does later.

    Args:
        params: Parameter groups.
        lr: Size of the first step.
        weight_decay: Factor of the weights in the gradient, at least 0.
        etas: Factors by which a step shrinks and grows.
        step_sizes: Smallest and largest step.

    Source: Riedmiller and Braun, A direct adaptive method for faster backpropagation learning,
        1993.
    """

    def __init__(
        self,
        params: Iterable[dict[str, Any]],
        lr: float = 1e-2,
        weight_decay: float = 0.0,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50.0),
    ) -> None:
        groups = [{"weight_decay": weight_decay, **group} for group in params]
        super().__init__(groups, lr=lr, etas=etas, step_sizes=step_sizes)

    @overload
    def step(self, closure: None = None) -> None: ...

    @overload
    def step(self, closure: Callable[[], float]) -> float: ...

    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """Update the weights."""
        with torch.no_grad():
            for group in self.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None and group["weight_decay"]:
                        parameter.grad.add_(parameter, alpha=group["weight_decay"])
        result: float | None = super().step(closure)
        return result
