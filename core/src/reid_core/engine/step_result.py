"""What one training step hands to ``after_step``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from torch import Tensor


@dataclass(frozen=True)
class StepResult:
    """The numbers of one step, as detached scalar tensors on the device.

    Args:
        loss: The sum that was minimised.
        losses: Its weighted parts by name.
        metrics: Further numbers to log, such as accuracy.
        is_skipped: Whether the weights were left as they are, because a gradient was not finite in
            float16, or by ``train.on_nan``; nothing that counts updates counts this step.
    """

    loss: Tensor
    losses: Mapping[str, Tensor] = field(default_factory=dict)
    metrics: Mapping[str, Tensor] = field(default_factory=dict)
    is_skipped: bool = False
