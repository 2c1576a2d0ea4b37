"""An exponential moving average of the weights, for evaluation and export."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from torch import Tensor
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from reid_core.checkpoint.weights import load_into
from reid_core.errors import ConfigError
from reid_core.hookspecs import hookimpl

if TYPE_CHECKING:
    from reid_core import DefaultTrainer
    from reid_core.contracts import ReidModel
    from reid_core.engine import StepResult


class Ema:
    """Keeps ``average = decay * average + (1 - decay) * weights`` after every step.

    Floating-point buffers (the statistics of batch normalisation) are averaged too, others are the
    newest ones. The average is what is evaluated and exported; training goes on with the plain
    weights.

    Args:
        decay: Share that each step keeps, 0 to 1, exclusive.
        warmup: Begin with the smaller decay ``(1 + n) / (10 + n)`` after n steps.

    Raises:
        ConfigError: ``decay`` is outside its range.

    Source: Polyak and Juditsky, Acceleration of Stochastic Approximation by Averaging, 1992; the
        warm-up is the one of Tarvainen and Valpola, Mean Teachers, 2017, in its common form.
    """

    needs_whole_weights = True

    def __init__(self, *, decay: float = 0.999, warmup: bool = True) -> None:
        if not 0 < decay < 1:
            raise ConfigError(f"hook ema: decay is {decay}; expected more than 0 and less than 1")
        self._decay = decay
        self._warmup = warmup
        self._updates = 0
        self._average: AveragedModel | None = None
        self._loaded: dict[str, object] | None = None

    @hookimpl
    def before_train(self, trainer: DefaultTrainer) -> None:
        """Start from the current weights, or go on with the average of the run so far."""
        if self._average is None:
            self._average = AveragedModel(trainer.model, multi_avg_fn=self._blend, use_buffers=True)
            # One that was never updated is no average of anything: the first update would copy.
            self._average.n_averaged.fill_(1)
            self._average.requires_grad_(False)
        self._take_back(self._average)
        trainer.eval_model = cast("ReidModel", self._average.module)

    @hookimpl
    def after_step(self, trainer: DefaultTrainer, result: StepResult) -> None:
        """Take the step's weights into the average, unless they are those of the step before."""
        assert self._average is not None
        if result.is_skipped:
            return
        self._updates += 1
        self._average.update_parameters(trainer.model)

    def state_dict(self) -> dict[str, object]:
        """Return the average and the number of updates."""
        if self._average is None:
            return self._loaded or {}
        return {"average": self._average.module.state_dict(), "updates": self._updates}

    def load_state_dict(self, state: dict[str, object]) -> None:
        """Take the average back, in a run that goes on; before a run, once the model is there."""
        self._loaded = state or None
        if self._average is not None:
            self._take_back(self._average)

    def _take_back(self, average: AveragedModel) -> None:
        if self._loaded is None:
            return
        self._updates = int(str(self._loaded["updates"]))
        state = cast("dict[str, Tensor]", self._loaded["average"])
        load_into(average.module, state, source="the average in the checkpoint")
        self._loaded = None

    def _blend(self, averages: Sequence[Tensor], weights: Sequence[Tensor], count: object) -> None:
        # All of one type. A mean of counters or of identities would count and name nothing.
        if not averages[0].is_floating_point():
            for average, weight in zip(averages, weights, strict=True):
                average.copy_(weight)
            return
        n = self._updates
        decay = min(self._decay, (1 + n) / (10 + n)) if self._warmup else self._decay
        blend = get_ema_multi_avg_fn(decay)  # type: ignore[no-untyped-call]
        blend(averages, weights, count)
