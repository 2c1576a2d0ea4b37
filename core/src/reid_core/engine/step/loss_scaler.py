"""The factor on the loss that keeps gradients representable in float16."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor

from reid_core.errors import TrainingError

#: Below this factor no gradient is saved by a smaller one: the loss itself is not finite.
SMALLEST_SCALE = 2.0**-24


class LossScaler:
    """Computes gradients of the loss times a factor, and divides them by it again.

    Where one of them is not finite the update is skipped and the factor halved; after 2000 updates
    in a row it is doubled.

    Args:
        device: Where the model is; its type counts.
        scale: The factor at the beginning, above 0.

    Source: Micikevicius et al., Mixed Precision Training, ICLR 2018, section 3.2, as in
        ``torch.amp.GradScaler``.
    """

    def __init__(self, device: torch.device, *, scale: float = 2.0**16) -> None:
        self._scaler = torch.amp.GradScaler(device.type, init_scale=scale)
        self._scale = scale

    @property
    def scale(self) -> float:
        """The factor of the next step."""
        return self._scale

    def backward(self, loss: Tensor, optimizer: torch.optim.Optimizer) -> None:
        """Compute the gradients of a scalar loss; they are those of the loss as it is."""
        self.scaled(loss).backward()  # type: ignore[no-untyped-call]
        self.unscale(optimizer)

    def scaled(self, loss: Tensor) -> Tensor:
        """Return a scalar loss times the factor."""
        return self._scaler.scale(loss)

    def unscale(self, optimizer: torch.optim.Optimizer) -> None:
        """Divide all gradients by the factor; once a step, when all of them are there."""
        self._scaler.unscale_(optimizer)

    def step(self, optimizer: torch.optim.Optimizer) -> bool:
        """Update the weights, unless a gradient is not finite.

        Returns:
            Whether they were updated.

        Raises:
            TrainingError: The factor is so small that it cannot be what is wrong.
        """
        before = self._scale
        self._scaler.step(optimizer)
        self._scaler.update()
        # The scaler has waited for the device already: it had to know whether to update.
        self._scale = self._scaler.get_scale()
        if self._scale < SMALLEST_SCALE:
            raise TrainingError(
                f"gradients are not finite in float16, at whatever scale (now {self._scale:g}), so "
                "the loss itself is not finite; the checkpoints before it are untouched. Try "
                "train.precision=bf16 or fp32, or a lower train.optimizer.lr"
            )
        return self._scale >= before

    def state_dict(self) -> dict[str, object]:
        """Return the factor and how long it has been right."""
        return dict(self._scaler.state_dict())

    def load_state_dict(self, state: dict[str, object]) -> None:
        """Go on with the factor of an earlier run."""
        self._scaler.load_state_dict(state)
        self._scale = cast("float", state["scale"])
