"""The schedule of one rise and one long fall."""

from __future__ import annotations

import math
from typing import Literal

from reid_core.errors import ConfigError
from reid_core.optim.schedules.base import Progress


class OneCycle:
    """Rise from ``lr / div_factor`` to the whole rate, then fall far below the start.

    With N values in the run, the rise ends at value ``rise * N - 1`` and the fall at value
    ``N - 1``, at ``lr / div_factor / final_div_factor``; both follow half a cosine, or a straight
    line. The learning rate alone moves, the momentum stays.

    Args:
        total_epochs: Length of the run.
        warmup_epochs: Length of a warm-up before; there must be none.
        tick_epochs: Distance of two values in epochs.
        rise: Share of the run that the rise takes, between 0 and 1; it holds at least two values.
        div_factor: The whole rate over the first one, at least 1.
        final_div_factor: The first rate over the last one, at least 1.
        shape: Form of the rise and of the fall.

    Raises:
        ConfigError: A parameter is outside its range, or there is a warm-up.

    Source: Smith and Topin, Super-Convergence, 2017, section 3, as in
        ``torch.optim.lr_scheduler.OneCycleLR``.
    """

    def __init__(
        self,
        *,
        total_epochs: float,
        warmup_epochs: float,
        tick_epochs: float,
        rise: float = 0.3,
        div_factor: float = 25.0,
        final_div_factor: float = 10000.0,
        shape: Literal["cosine", "linear"] = "cosine",
    ) -> None:
        if not 0 < rise < 1:
            raise ConfigError(f"schedule one_cycle: rise is {rise}; expected 0 < rise < 1")
        for name, value in (("div_factor", div_factor), ("final_div_factor", final_div_factor)):
            if value < 1:
                raise ConfigError(f"schedule one_cycle: {name} is {value}; expected at least 1")
        if warmup_epochs > 0:
            raise ConfigError(
                "schedule one_cycle begins with a rise of its own; remove the warm-up: --set "
                "train.schedule.warmup=null"
            )
        peak, last = rise * total_epochs - tick_epochs, total_epochs - tick_epochs
        if not 0 < peak < last:
            raise ConfigError(
                f"schedule one_cycle: a rise over {rise:g} of {total_epochs:g} epochs holds fewer "
                f"than two values, one every {tick_epochs:g} epochs; train longer, or use another "
                "schedule"
            )
        self._rise, self._fall = Progress(0.0, peak), Progress(peak, last)
        self._first = 1 / div_factor
        self._last = self._first / final_div_factor
        self._is_linear = shape == "linear"

    def factor(self, epoch: float) -> float:
        """Return the factor, from ``1 / div_factor`` up to 1 and down to almost 0."""
        if epoch <= self._rise.end:
            return self._between(self._first, 1.0, self._rise.at(epoch))
        return self._between(1.0, self._last, self._fall.at(epoch))

    def _between(self, start: float, end: float, progress: float) -> float:
        share = progress if self._is_linear else (1 - math.cos(math.pi * progress)) / 2
        return start + (end - start) * share
