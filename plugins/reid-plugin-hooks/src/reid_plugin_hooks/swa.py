"""The average of the weights at several moments of the end of training."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, cast

from torch import Tensor
from torch.optim.swa_utils import AveragedModel

from reid_core.checkpoint.weights import load_into
from reid_core.config import ConfigProblem
from reid_core.errors import ConfigError
from reid_core.hookspecs import hookimpl
from reid_core.plugins.registries import HOOKS
from reid_plugin_hooks.batch_statistics import estimate_statistics

if TYPE_CHECKING:
    from reid_core import Config, DefaultTrainer
    from reid_core.contracts import ReidModel
    from reid_core.engine import Outcome, StepResult

log = logging.getLogger("reid_core")

#: Hooks of this package that act on the evaluated model too, and why not both.
_RIVALS = {
    "ema": "both put an average of the weights in the place of the evaluated model",
    "swa": "the second average would take the place of the first",
    "precise_bn": "swa estimates the batch statistics of its average itself (update_bn)",
}


class Swa:
    """Averages snapshots of the weights, each with the same share.

    ``average = (w_1 + ... + w_n) / n``. From the first snapshot on the average is what is evaluated
    and exported; training goes on with the plain weights, at the rate of the schedule. Its batch
    statistics belong to no weights, so they are estimated anew, over training batches, at the end
    of each epoch that brought a snapshot; other buffers are those of the newest snapshot.

    Args:
        start_epoch: First epoch, counted from 0, that brings snapshots.
        every: ``epoch``, for one at the end of each epoch, or a number of updates, at least 1.
        update_bn: Batches that the statistics are estimated over, at least 0; 0 keeps the ones of
            the newest snapshot.

    Raises:
        ConfigError: A number is outside its range.

    Source: Izmailov et al., Averaging Weights Leads to Wider Optima and Better Generalization, UAI
        2018, algorithm 1.
    """

    needs_whole_weights = True

    def __init__(
        self, *, start_epoch: int, every: Literal["epoch"] | int = "epoch", update_bn: int = 100
    ) -> None:
        if start_epoch < 0 or update_bn < 0:
            raise ConfigError(
                f"hook swa: start_epoch is {start_epoch}, update_bn is {update_bn}; expected 0 or "
                "more of each"
            )
        if every != "epoch" and every < 1:
            raise ConfigError(f"hook swa: every is {every}; expected 'epoch' or at least 1")
        self._start_epoch = start_epoch
        self._every = every
        self._update_bn = update_bn
        # Updates since the last snapshot, from the first epoch with snapshots on.
        self._updates = 0
        self._has_old_statistics = False
        self._average: AveragedModel | None = None
        self._loaded: dict[str, object] | None = None

    @hookimpl
    def validate_config(self, config: Config) -> list[ConfigProblem]:
        """Refuse a run too short for it, and hooks that do the same."""
        problems = list(_rivals(config))
        if self._start_epoch >= config.train.epochs:
            message = (
                f"hook swa starts in epoch {self._start_epoch}, counted from 0, of "
                f"{config.train.epochs}; lower start_epoch"
            )
            problems.append(ConfigProblem("train.epochs", message))
        return problems

    @hookimpl
    def before_train(self, trainer: DefaultTrainer) -> None:
        """Make room for the average, or take that of a resumed run."""
        if self._average is None:
            self._average = AveragedModel(trainer.model)
            self._average.requires_grad_(False)
        self._take_back(self._average)
        if self._average.n_averaged > 0:
            trainer.eval_model = self._evaluated()
        if trainer.iter >= trainer.max_iter:
            self._renew_statistics(trainer)

    @hookimpl
    def before_epoch(self, trainer: DefaultTrainer) -> None:
        """Refuse to take the place of a model that another hook evaluates."""
        assert self._average is not None
        own = self._average.module if self._average.n_averaged > 0 else trainer.model
        if trainer.eval_model is not own:
            raise ConfigError(
                "hook swa: another hook has put a model of its own in the place of the evaluated "
                "one (trainer.eval_model), as ema does; leave one of them out"
            )

    @hookimpl
    def after_step(self, trainer: DefaultTrainer, step: int, result: StepResult) -> None:
        """Count the update, and take a snapshot when it is time."""
        if result.is_skipped or step < self._start_epoch * len(trainer.data_loader):
            return
        self._updates += 1
        if self._every != "epoch" and self._updates >= self._every:
            self._take_snapshot(trainer)

    @hookimpl
    def after_epoch(self, trainer: DefaultTrainer) -> None:
        """Take the snapshot of the epoch; make the average ready for checkpoint and evaluation."""
        if self._every == "epoch" and self._updates > 0:
            self._take_snapshot(trainer)
        self._renew_statistics(trainer)

    @hookimpl
    def before_eval(self, trainer: DefaultTrainer) -> None:
        """Make the average ready, if it is not."""
        self._renew_statistics(trainer)

    @hookimpl
    def after_train(self, trainer: DefaultTrainer, outcome: Outcome) -> None:
        """Make the average of a stopped run ready; say so if there is none."""
        if outcome.status == "stopped":
            self._renew_statistics(trainer)
        is_over = outcome.status in ("completed", "stopped")
        if is_over and self._average is not None and self._average.n_averaged == 0:
            log.warning("hook swa: the run was over before the first snapshot; nothing is averaged")

    def state_dict(self) -> dict[str, object]:
        """Return the average, of how many snapshots it is, and where the next one stands."""
        if self._average is None:
            return self._loaded or {}
        snapshots = int(self._average.n_averaged)
        return {
            "average": self._average.module.state_dict() if snapshots else None,
            "snapshots": snapshots,
            "updates": self._updates,
            "has_old_statistics": self._has_old_statistics,
        }

    def load_state_dict(self, state: dict[str, object]) -> None:
        """Take the average back, in a run that goes on; before a run, once the model is there."""
        self._loaded = state or None
        if self._average is not None:
            self._take_back(self._average)

    def _take_back(self, average: AveragedModel) -> None:
        state, self._loaded = self._loaded, None
        if state is None:
            return
        average.n_averaged.fill_(int(str(state["snapshots"])))
        if state["average"] is not None:
            weights = cast("dict[str, Tensor]", state["average"])
            load_into(average.module, weights, source="the average in the checkpoint")
        self._updates = int(str(state["updates"]))
        self._has_old_statistics = bool(state["has_old_statistics"])

    def _take_snapshot(self, trainer: DefaultTrainer) -> None:
        assert self._average is not None
        self._average.update_parameters(trainer.model)
        self._updates = 0
        self._has_old_statistics = True
        trainer.eval_model = self._evaluated()

    def _renew_statistics(self, trainer: DefaultTrainer) -> None:
        if not self._has_old_statistics:
            return
        if self._update_bn > 0:
            estimate_statistics(trainer, self._evaluated(), batches=self._update_bn)
        self._has_old_statistics = False

    def _evaluated(self) -> ReidModel:
        assert self._average is not None
        return cast("ReidModel", self._average.module)


def _rivals(config: Config) -> Iterator[ConfigProblem]:
    """Yield a problem for each hook that the one average does not go with."""
    seen = 0
    for group, hooks in (("hooks", config.hooks), ("default_hooks", config.default_hooks)):
        for position, hook in enumerate(hooks):
            ref = HOOKS.resolve(hook.name)
            if ref.dist != "reid-plugin-hooks" or ref.name not in _RIVALS:
                continue
            seen += ref.name == "swa"
            if ref.name != "swa" or seen > 1:
                message = f"hook {ref.name} beside swa: {_RIVALS[ref.name]}; leave one out"
                yield ConfigProblem(f"{group}.{position}", message)
