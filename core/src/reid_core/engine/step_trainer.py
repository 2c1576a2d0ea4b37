"""One step of a configured run: its precision, its chunks, its processes and its faults."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from reid_core.config import Config
from reid_core.contracts import Batch, ReidModel, TrainOutput
from reid_core.data.manifest import Manifest
from reid_core.distributed.processes import Processes
from reid_core.distributed.tensors import average_gradients
from reid_core.engine.faults.divergence import DivergenceWatch
from reid_core.engine.faults.finite_tensors import FiniteTensors
from reid_core.engine.faults.out_of_memory import explained_out_of_memory
from reid_core.engine.parallel.data_parallel import (
    of_all,
    require_gradients,
    take_statistics_of_first,
)
from reid_core.engine.parallel.start import share_model
from reid_core.engine.record.run_folder import RunFolder
from reid_core.engine.simple_trainer import SimpleTrainer
from reid_core.engine.step.compiled import compile_parts
from reid_core.engine.step.micro_batches import MicroBatches
from reid_core.engine.step.numerics import told_by_setting
from reid_core.engine.step.precision import autocast_dtype
from reid_core.engine.step_result import StepResult
from reid_core.errors import TrainingError
from reid_core.optim.frozen import freeze


class StepTrainer(SimpleTrainer):
    """Does a step as ``train`` of a configuration says; :class:`DefaultTrainer` builds the rest.

    Attributes:
        config: The resolved configuration.
        folder: The run folder.
        device: Where the model is.
        processes: The processes that train it together.
        parallel: What is called in training, in several processes; None is the model itself.
        train_manifests: The training sets.
        eval_model: The model that is evaluated and exported.
        divergence: What watches losses, gradients and buffers.
        finite: Which tensors of the model have to be finite.
    """

    config: Config
    folder: RunFolder
    device: torch.device
    processes: Processes
    train_manifests: list[Manifest]
    eval_model: ReidModel

    def prepare_step(self, model: ReidModel) -> None:
        """Share, freeze and compile what shall be, before the optimizer is built.

        Raises:
            ConfigError: The model cannot be trained in chunks or by several processes, or nothing
                can be compiled here.
        """
        train = self.config.train
        self.finite = FiniteTensors(model)
        self.parallel = share_model(model, self.processes, train.distributed)
        self._frozen_statistics = freeze(model, train.optimizer.frozen)
        self._autocast_dtype = autocast_dtype(train.precision, self.device)
        self.divergence = DivergenceWatch(
            train.on_nan, is_deferred=self.device.type != "cpu", log_every=train.log_every
        )
        self._micro_batches = None
        if train.micro_batch is not None:
            self._micro_batches = MicroBatches(model, train.micro_batch)
        if train.compile:
            compile_parts(model, self.device)

    @contextmanager
    def in_precision(self, batch: Batch) -> Iterator[Batch]:
        """Yield a batch in the run's memory layout, while models compute in its precision."""
        # Here and not once: an evaluation puts the whole model back into training mode.
        self._frozen_statistics.hold()
        dtype = self._autocast_dtype
        with torch.autocast(self.device.type, dtype=dtype, enabled=dtype is not None):
            yield batch.with_images(batch.images.contiguous(memory_format=self._memory_format))

    def forward(self, batch: Batch) -> TrainOutput:
        """Compute the losses of a batch in the configured precision."""
        with self.in_precision(batch) as ready:
            return super().forward(ready)

    def call_model(self, batch: Batch) -> object:
        """Call the model, with what puts the work of several processes together."""
        return super().call_model(batch) if self.parallel is None else self.parallel(batch)

    def run_step(self, batch: Batch) -> StepResult:
        """Do one step; see :meth:`SimpleTrainer.run_step`.

        The numbers are those of the batch of all processes.

        Raises:
            TrainingError: A number is not finite, memory ran out, or a kernel does not repeat
                though it should.
        """
        with told_by_setting(), explained_out_of_memory(self, "step"):
            return of_all(super().run_step(batch), self.processes)

    def compute_gradients(self, batch: Batch) -> TrainOutput:
        """Compute losses and gradients, in chunks where ``train.micro_batch`` asks for them.

        The gradients are means of all processes.
        """
        self.divergence.before_gradients(self.model, is_scaled=self.scaler is not None)
        if self._micro_batches is None or len(batch) <= self._micro_batches.size:
            output = super().compute_gradients(batch)
        else:
            output = self._compute_in_chunks(batch, self._micro_batches)
        may_be_unused = self.config.train.distributed.find_unused_parameters
        if self.parallel is not None and not may_be_unused:
            require_gradients(self.model)
        return output

    def _compute_in_chunks(self, batch: Batch, micro_batches: MicroBatches) -> TrainOutput:
        self.require_training_mode()
        # As in the call of a whole batch, which is wrapped: losses may read what buffers hold.
        take_statistics_of_first(self.processes, self.model)
        output = micro_batches.compute_gradients(self, batch)
        if self.processes.count > 1:
            average_gradients(self.model.parameters())
        if self.scaler is not None:
            self.scaler.unscale(self.optimizer)
        return output

    def may_update(self, batch: Batch, output: TrainOutput) -> bool:
        """Say whether losses, gradients and buffers are finite; see :class:`DivergenceWatch`."""
        return self.divergence.may_update(self, batch, output)

    def _update(self) -> bool:
        try:
            is_updated = super()._update()
        except TrainingError as error:
            self.divergence.scaler_gave_up(self, error)
            return False
        if not is_updated:
            self.divergence.scaler_skipped()
        return is_updated

    @property
    def _memory_format(self) -> torch.memory_format:
        is_last = self.config.train.channels_last
        return torch.channels_last if is_last else torch.contiguous_format

    @property
    def current_lr(self) -> float:
        """The learning rate of the step, before the factors of the parameter groups."""
        group = self.optimizer.param_groups[0]
        return float(group["lr"] * (self.config.train.optimizer.lr / group["initial_lr"]))
