"""A loss that stands where embeddings that are all equal would put it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from reid_core.hookspecs import hookimpl
from reid_core.models.weighted_losses import collapsed_values

if TYPE_CHECKING:
    from reid_core.engine.default_trainer import DefaultTrainer

log = logging.getLogger("reid_core")

#: Steps that a loss has to stand still before it is said.
STEPS = 200
#: How near it has to be, as a share of the value.
_NEARNESS = 1e-3


class CollapseWatch:
    """Warns, once a loss, when it has stood at its collapsed value for :data:`STEPS` steps.

    A loss says which value that is by an attribute ``collapsed_value``: the margin of a triplet
    loss with a hinge, the logarithm of 2 with a soft margin. It takes it when every embedding is
    the same; nothing is learned from then on, and the log looks calm.
    """

    def __init__(self) -> None:
        self._since: dict[str, int] = {}
        self._told: set[str] = set()

    @hookimpl
    def on_log(self, trainer: DefaultTrainer, step: int, scalars: Mapping[str, float]) -> None:
        """Look at the losses of a row of the log."""
        has_parts = any(name.startswith("loss/") for name in scalars)
        alone = None if has_parts else scalars.get("loss")
        for name, value in collapsed_values(trainer.model).items():
            # A loss that is the only one is logged as the sum.
            logged = scalars.get(f"loss/{name}", alone)
            if logged is None or name in self._told:
                continue
            if abs(logged - value) > _NEARNESS * value:
                self._since.pop(name, None)
                continue
            first = self._since.setdefault(name, step)
            if step - first >= STEPS:
                self._told.add(name)
                log.warning(
                    "loss %s has stood at %.4g for %d steps, the value for embeddings that are all "
                    "equal: nothing is learned from it; lower the learning rate, lengthen the "
                    "warm-up, or add a classification loss",
                    name,
                    logged,
                    step - first,
                )
