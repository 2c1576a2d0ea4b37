"""Loss, gradient, update; nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sized
from itertools import islice
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from reid_core.contracts import Batch, TrainOutput
from reid_core.engine.step.loss_scaler import LossScaler
from reid_core.engine.step_result import StepResult
from reid_core.engine.trainer_base import TrainerBase
from reid_core.errors import ConfigError, TrainingError
from reid_core.models.part_blame import find_part
from reid_core.optim.clipping import GradientClip


class SizedBatches(Protocol):
    """Batches that can be gone through again and again, a known number of them."""

    def __len__(self) -> int:
        """Return the number of batches of an epoch."""
        ...

    def __iter__(self) -> Iterator[Batch]:
        """Yield the batches of an epoch."""
        ...


@runtime_checkable
class EpochLoader(Protocol):
    """A loader that can make any epoch, from any batch on."""

    def __len__(self) -> int:
        """Return the number of batches of an epoch."""
        ...

    def epoch(self, epoch: int, start: int = 0) -> Iterator[Batch]:
        """Yield the batches of an epoch from number ``start`` on."""
        ...


class SimpleTrainer(TrainerBase):
    """The plain way to train: one model, one loader, one optimizer.

    Args:
        model: In training mode, ``model(batch)`` returns a :class:`TrainOutput`, a mapping of named
            scalar losses, or one scalar loss.
        data_loader: An iterable of batches with a length, or an :class:`EpochLoader`.
        optimizer: Updates the model's parameters.
        clip: Clips their gradients first; None leaves them.
        scaler: Scales the loss for float16; None does not.

    Attributes:
        skipped_steps: Steps whose update was skipped, because a number was not finite.

    Raises:
        ConfigError: The loader has no length, or an epoch of 0 batches.
    """

    def __init__(
        self,
        model: nn.Module,
        data_loader: SizedBatches | EpochLoader,
        optimizer: torch.optim.Optimizer,
        *,
        clip: GradientClip | None = None,
        scaler: LossScaler | None = None,
    ) -> None:
        super().__init__(iters_per_epoch=_length(data_loader))
        if self.iters_per_epoch == 0:
            raise ConfigError(
                "an epoch has 0 batches: the training data is smaller than one batch; lower the "
                "batch size"
            )
        self.model = model
        self.data_loader = data_loader
        self.optimizer = optimizer
        self.clip = clip
        self.scaler = scaler
        self.skipped_steps = 0
        model.train()

    def batches(self, epoch: int, start: int) -> Iterable[Batch]:
        """Yield the batches of an epoch from number ``start`` on."""
        if isinstance(self.data_loader, EpochLoader):
            return self.data_loader.epoch(epoch, start)
        return islice(self.data_loader, start, None)

    def forward(self, batch: Batch) -> TrainOutput:
        """Compute the losses of a batch.

        Raises:
            TrainingError: The model is in evaluation mode, or returned no scalar losses.
        """
        self.require_training_mode()
        return as_train_output(self.call_model(batch))

    def require_training_mode(self) -> None:
        """Check that the model would return losses.

        Raises:
            TrainingError: It is in evaluation mode.
        """
        if not self.model.training:
            raise TrainingError(
                "the model is in evaluation mode, where it returns embeddings and not losses; "
                "something called model.eval() and did not call model.train() afterwards"
            )

    def call_model(self, batch: Batch) -> object:
        """Call the model in training mode; what it returns is not checked yet."""
        return self.model(batch)

    def _models(self) -> list[nn.Module]:
        """Return the models whose parts may be to blame for an error."""
        return [self.model]

    def _name_culprit(self, error: BaseException) -> None:
        part = find_part(error, *self._models())
        if part is None:
            super()._name_culprit(error)
        else:
            error.add_note(f"raised by {part}")

    def run_step(self, batch: Batch) -> StepResult:
        """Do one step.

        Returns:
            The losses of the step, detached, and whether the weights were updated.
        """
        # Gradients set to None cost no memory traffic; nothing here keeps views of them.
        self.optimizer.zero_grad(set_to_none=True)
        output = self.compute_gradients(batch)
        loss = torch.stack(list(output.losses.values())).sum().detach()
        self.hooks.after_backward(trainer=self, step=self.iter)
        norms: Mapping[str, Tensor] = {}
        is_updated = self.may_update(batch, output)
        if is_updated:
            norms = self.clip.clip() if self.clip is not None else {}
            is_updated = self._update()
        self.skipped_steps += not is_updated
        return StepResult(
            loss=loss,
            losses={name: value.detach() for name, value in output.losses.items()},
            metrics={**output.metrics, **norms},
            is_skipped=not is_updated,
        )

    def compute_gradients(self, batch: Batch) -> TrainOutput:
        """Compute the losses of a batch, and the gradients of their sum.

        Gradients are None before, and unscaled afterwards.

        Returns:
            The losses.
        """
        output = self.forward(batch)
        self.backward(torch.stack(list(output.losses.values())).sum())
        return output

    def backward(self, loss: Tensor) -> None:
        """Add the gradients of a scalar loss to those that are there."""
        if self.scaler is None:
            loss.backward()  # type: ignore[no-untyped-call]
        else:
            self.scaler.backward(loss, self.optimizer)

    def may_update(self, batch: Batch, output: TrainOutput) -> bool:
        """Say whether the weights shall take the gradients; a step that may not is skipped."""
        return True

    def _update(self) -> bool:
        """Update the weights; say whether they were."""
        if self.scaler is not None:
            return self.scaler.step(self.optimizer)
        self.optimizer.step()
        return True


def _length(data_loader: object) -> int:
    if isinstance(data_loader, Sized):
        return len(data_loader)
    raise ConfigError(
        f"data loader {type(data_loader).__name__} has no length; an epoch must be finite: "
        "give it a __len__"
    )


def as_train_output(output: object) -> TrainOutput:
    """Accept what a model may return in training mode.

    Raises:
        TrainingError: It is neither a TrainOutput, a mapping of scalars, nor a scalar.
    """
    if isinstance(output, Tensor):
        output = TrainOutput({"loss": output})
    elif isinstance(output, Mapping):
        output = TrainOutput(dict(output))
    if not isinstance(output, TrainOutput) or not output.losses:
        raise TrainingError(
            f"a model in training mode returned {type(output).__name__} without losses; expected "
            "a TrainOutput, a mapping of named scalar losses, or one scalar loss"
        )
    for name, loss in output.losses.items():
        if not isinstance(loss, Tensor) or loss.dim() != 0:
            got = tuple(loss.shape) if isinstance(loss, Tensor) else type(loss).__name__
            raise TrainingError(
                f"loss {name} is {got}; expected a scalar tensor, for example its mean over the "
                "batch"
            )
    return output
