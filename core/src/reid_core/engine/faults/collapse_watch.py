"""Signs that nothing is learned: equal embeddings, and accuracy at chance."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from reid_core.contracts import Batch
from reid_core.hookspecs import hookimpl
from reid_core.models.weighted_losses import collapsed_values

if TYPE_CHECKING:
    from reid_core.engine.default_trainer import DefaultTrainer

log = logging.getLogger("reid_core")

#: Steps that a sign has to last before it is said.
STEPS = 200
#: How near a loss has to be to its collapsed value, and a distance to another, as a share of it.
_NEARNESS = 1e-3
#: Distances below it are 0 but for rounding.
_NO_DISTANCE = 1e-5
#: Standard errors that an accuracy has to be above chance by.
_ERRORS = 5.0
_POSITIVE, _NEGATIVE = "/hardest_positive_distance", "/hardest_negative_distance"


class CollapseWatch:
    """Warns, once a sign, when it has lasted for :data:`STEPS` steps.

    - A loss stands at its collapsed value: the margin of a triplet loss with a hinge, the logarithm
      of 2 with a soft margin. It takes it when every embedding is the same. A loss says which value
      that is by an attribute ``collapsed_value``.
    - All distances of a batch are tied: the farthest positives of a loss over pairs are as far as
      the nearest negatives, or all are 0.
    - The mean accuracy of an epoch of that many steps, after the first epoch, is what guessing
      gives: within 5 standard errors of 1 / classes, and at most twice as much.

    Nothing is learned from such a loss from then on, and the log looks calm.
    """

    def __init__(self) -> None:
        self._since: dict[str, int] = {}
        self._told: set[str] = set()
        self._last_step = 0
        # Of the epoch so far: images, steps, and the sum of the steps' accuracies.
        self._images = 0
        self._steps = 0
        self._accuracy = 0.0

    @hookimpl
    def before_epoch(self, trainer: DefaultTrainer) -> None:
        """Begin the mean of an epoch."""
        self._last_step = trainer.iter
        self._images, self._steps, self._accuracy = 0, 0, 0.0

    @hookimpl
    def before_step(self, batch: Batch) -> None:
        """Count the images of an epoch."""
        self._images += len(batch)

    @hookimpl
    def on_log(self, trainer: DefaultTrainer, step: int, scalars: Mapping[str, float]) -> None:
        """Look at a row of the log."""
        if "accuracy" in scalars:
            self._steps += step - self._last_step
            self._accuracy += (step - self._last_step) * scalars["accuracy"]
            self._last_step = step
        self._look_at_losses(trainer, step, scalars)
        self._look_at_distances(step, scalars)

    @hookimpl
    def after_epoch(self, trainer: DefaultTrainer, epoch: int) -> None:
        """Compare the accuracy of an epoch with chance."""
        if epoch == 0 or self._steps < STEPS or "accuracy" in self._told:
            return
        num_classes = trainer.label_map.num_classes
        accuracy = self._accuracy / self._steps
        chance = 1 / num_classes
        error = math.sqrt(chance * (1 - chance) / max(self._images, 1))
        if accuracy > chance + min(chance, _ERRORS * error):
            return
        self._told.add("accuracy")
        log.warning(
            "accuracy in epoch %d is %.4f, and guessing among %d identities gives %.4f: the "
            "classifier has learned nothing; lower or raise the learning rate, and see whether "
            "labels and images belong together (reid-data check)",
            epoch,
            accuracy,
            num_classes,
            chance,
        )

    def _look_at_losses(
        self, trainer: DefaultTrainer, step: int, scalars: Mapping[str, float]
    ) -> None:
        has_parts = any(name.startswith("loss/") for name in scalars)
        alone = None if has_parts else scalars.get("loss")
        for name, value in collapsed_values(trainer.model).items():
            # A loss that is the only one is logged as the sum.
            logged = scalars.get(f"loss/{name}", alone)
            if logged is None:
                continue
            lasted = self._lasting(name, step, abs(logged - value) <= _NEARNESS * value)
            if lasted is not None:
                log.warning(
                    "loss %s has stood at %.4g for %d steps, the value for embeddings that are all "
                    "equal: nothing is learned from it; lower the learning rate, lengthen the "
                    "warm-up, or add a classification loss",
                    name,
                    logged,
                    lasted,
                )

    def _look_at_distances(self, step: int, scalars: Mapping[str, float]) -> None:
        for key in [key for key in scalars if key.endswith(_POSITIVE)]:
            name = key.removesuffix(_POSITIVE)
            positive, negative = scalars[key], scalars.get(name + _NEGATIVE, math.nan)
            limit = max(_NEARNESS * max(positive, negative), _NO_DISTANCE)
            lasted = self._lasting(key, step, abs(positive - negative) <= limit)
            if lasted is not None:
                log.warning(
                    "all distances that loss %s sees have been tied for %d steps (farthest "
                    "positive %.4g, nearest negative %.4g): the embeddings are all equal; lower "
                    "the learning rate, lengthen the warm-up, or add a classification loss",
                    name,
                    lasted,
                    positive,
                    negative,
                )

    def _lasting(self, sign: str, step: int, is_there: bool) -> int | None:
        """Return the steps that a sign has lasted, once, when they are enough."""
        if not is_there:
            self._since.pop(sign, None)
            return None
        lasted = step - self._since.setdefault(sign, step)
        if lasted < STEPS or sign in self._told:
            return None
        self._told.add(sign)
        return lasted
