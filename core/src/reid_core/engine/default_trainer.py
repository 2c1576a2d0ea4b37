"""The trainer that a config builds."""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterable, Mapping
from pathlib import Path

import torch
from torch import nn

from reid_core.checkpoint.random_state import seed_everything
from reid_core.config import Config
from reid_core.contracts import Batch, ReidModel
from reid_core.data.cameras import CameraMap, number_of_views
from reid_core.data.labels import LabelMap
from reid_core.data.loader import TrainLoader
from reid_core.data.sources import Sources
from reid_core.data.train_data import build_train_loader
from reid_core.distributed.join import current_processes
from reid_core.distributed.processes import Processes
from reid_core.engine.check import build_hooks, check_config
from reid_core.engine.data_check import check_data
from reid_core.engine.device import pick_device
from reid_core.engine.evaluation.combined import Combined, require_combinable
from reid_core.engine.evaluation.evaluator import Evaluator, Retrieval
from reid_core.engine.evaluation.parts import build_protocol
from reid_core.engine.evaluation.run import evaluate_test_sets
from reid_core.engine.faults.broken_images_file import BrokenImagesFile
from reid_core.engine.faults.collapse_watch import CollapseWatch
from reid_core.engine.faults.out_of_memory import explained_out_of_memory
from reid_core.engine.hooks.hook_share import hooks_of_process
from reid_core.engine.meter import Meter
from reid_core.engine.outcome import Outcome
from reid_core.engine.parallel.fsdp import require_fsdp_fits
from reid_core.engine.parallel.start import (
    claim_together,
    find_together,
    seed_process,
)
from reid_core.engine.plugin_scope import with_its_plugins
from reid_core.engine.record.run_facts import RunFacts
from reid_core.engine.record.run_folder import RunFolder
from reid_core.engine.record.status_file import StatusFile
from reid_core.engine.results import Results
from reid_core.engine.resuming.changes import Decision
from reid_core.engine.resuming.data_changes import settle_data
from reid_core.engine.resuming.init_from import InitialWeights, init_from
from reid_core.engine.resuming.restore import report_differences, restore
from reid_core.engine.resuming.state import state_of
from reid_core.engine.scalars import checked_scalars
from reid_core.engine.simple_trainer import EpochLoader
from reid_core.engine.step.compiled import uncompiled
from reid_core.engine.step.loss_scaler import LossScaler
from reid_core.engine.step.numerics import Numerics
from reid_core.engine.step.precision import loss_scaler
from reid_core.engine.step_trainer import StepTrainer
from reid_core.models.build import build_model
from reid_core.models.weighted_losses import losses_of
from reid_core.optim import LearningRate, build_clip, build_optimizer
from reid_core.optim.groups import describe_groups
from reid_core.plain_errors import told
from reid_core.plugins.index import disabled_plugins

log = logging.getLogger("reid_core")


class DefaultTrainer(StepTrainer):
    """Builds model, data, optimizer, schedule and hooks from a config, and trains.

    The whole of it::

        trainer = DefaultTrainer(load_config("osnet/osnet_x0_25"))
        trainer.resume_or_load()
        trainer.train()
        print(trainer.results.latest())

    Each ``build_…`` method can be overridden to change one part.

    Args:
        config: The resolved configuration.
        folder: The run folder; by default the one the config asks for.
        processes: Those that train together; by default all of torch's default process group.

    Raises:
        ConfigError: Parameters do not fit; said before data is read.
        PluginError: A component is missing or broken; said before data is read.
        DataError: A data set cannot serve this run; said before the first step.
    """

    def __init__(
        self,
        config: Config,
        folder: RunFolder | None = None,
        *,
        processes: Processes | None = None,
    ) -> None:
        self.processes = current_processes() if processes is None else processes
        with disabled_plugins(config.plugins.disable):
            self._build(config, folder)

    def _build(self, config: Config, folder: RunFolder | None) -> None:
        self.config = config
        self.components = check_config(config)
        require_fsdp_fits(config, build_hooks(config), self.processes.count)
        self.folder = self.processes.from_first(folder or RunFolder.for_config(config))
        # Whether what is in the folder is this run's.
        self._may_continue = False
        self.device = pick_device(config.device)
        self.numerics = Numerics.of_config(config.train, self.device)
        seed_everything(config.seed)
        self.sources = Sources(
            train=config.data.train,
            test=config.data.test_sets if config.evaluate.every else [],
            combine_all=config.data.combine_all,
            pools=build_protocol(config).pools,
        )
        self.train_manifests = self.sources.train_manifests()
        check_data(config, self.train_manifests, self.sources.test_sets_or_none())
        self.label_map = LabelMap.of(self.train_manifests)
        self.camera_map = CameraMap.of(self.train_manifests)
        self.num_views = number_of_views(self.train_manifests)
        self.evaluators = self.build_evaluators()
        model = self.build_model().to(self.device).to(memory_format=self._memory_format)
        for evaluator in self.evaluators:
            evaluator.condition_on(model.conditions, self.camera_map)
            evaluator.check_model(model)
        self.prepare_step(model)
        super().__init__(
            model,
            self.build_train_loader(),
            self.build_optimizer(model),
            clip=build_clip(config.train.clip_gradients, model),
            scaler=self.build_loss_scaler(),
        )
        if isinstance(self.data_loader, TrainLoader):
            summary = self.data_loader.summary()
            log.info("training: %d identities, %s", self.label_map.num_classes, summary)
        #: The model that is evaluated and exported; a hook such as ema puts its own here.
        self.eval_model: ReidModel = self.parallel.evaluated if self.parallel else model
        #: What training began with, where that was ``train.init_from``.
        self.initial_weights: InitialWeights | None = None
        self._has_begun = False
        self.results = Results()
        #: Ranked galleries of the newest evaluation, as ``ranks.json`` holds them.
        self.rankings: list[dict[str, object]] = []
        #: What the newest evaluation gave, set by set; dropped when training goes on.
        self.retrievals: list[Retrieval] = []
        #: All test sets as one in the newest evaluation, while it is kept; None without.
        self.combined: Combined | None = None
        self._is_logging = False
        self.learning_rate = self.build_learning_rate()
        self.max_iter = config.train.epochs * len(self.data_loader)
        self.meter = Meter(config.train.log_every)
        hooks: list[tuple[str | None, object]] = [
            # Before the meter: a row is written of steps that have been looked at.
            ("divergence", self.divergence),
            ("meter", self.meter),
            ("status", StatusFile()),
            ("collapse_watch", CollapseWatch()),
        ]
        if config.data.broken_images == "skip":
            hooks.append(("broken_images", BrokenImagesFile()))
        self.hooks.extend(hooks_of_process([*hooks, *self.build_hooks()], self.processes))
        self.hooks.stop_for([h.key for h in config.all_hooks if h.on_error == "raise"])
        self.hooks.bind(self)
        seed_process(config.seed, self.processes)

    # The parts; override one to change it.

    def build_model(self) -> ReidModel:
        """Build the model, for as many classes as the training sets have identities."""
        return build_model(
            self.config,
            num_classes=self.label_map.num_classes,
            num_cameras=self.camera_map.num_cameras,
            num_views=self.num_views,
        )

    def build_train_loader(self) -> EpochLoader:
        """Build the loader of training batches."""
        return build_train_loader(
            self.config,
            self.train_manifests,
            self.label_map,
            device=self.device,
            processes=self.processes,
        )

    def build_optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        """Build the optimizer of the model's parameters."""
        return build_optimizer(self.config.train.optimizer, model)

    def build_loss_scaler(self) -> LossScaler | None:
        """Build the scaler of the loss; None where the precision needs none."""
        return loss_scaler(self._autocast_dtype, self.device)

    def build_learning_rate(self) -> LearningRate:
        """Build the learning rate of each step."""
        return LearningRate.from_config(
            self.config.train.schedule,
            self.config.train.optimizer,
            epochs=self.config.train.epochs,
            iters_per_epoch=len(self.data_loader),
        )

    def build_evaluators(self) -> list[Evaluator]:
        """Build an evaluator for each test set; none when evaluation is off."""
        if self.config.evaluate.every == 0:
            return []
        made = [
            Evaluator(test_set, self.config, self.device, self.processes)
            for test_set in self.sources.test_sets()
        ]
        require_combinable(made, self.config)
        return made

    def build_hooks(self) -> list[tuple[str, object]]:
        """Build the hooks, as (id, hook) in call order."""
        return build_hooks(self.config)

    # Training.

    @with_its_plugins
    def resume_or_load(
        self, resume: str | Path | None = None, *, changes: Decision | None = None
    ) -> None:
        """Go on with an earlier run if asked to, or begin with the weights of ``train.init_from``.

        Args:
            resume: None starts anew. ``"auto"`` goes on from the newest whole checkpoint of the run
                folder, and starts anew, in the same folder, when there is none. A path goes on
                from that checkpoint, or from the newest one of that run folder.
            changes: ``"use"`` goes on with what the configuration says now where it says something
                else than the checkpoint's.

        Raises:
            UsageError: A new run would overwrite an old one, or the configuration has changed and
                nobody has said what counts.
            CheckpointError: There is no usable checkpoint at the path, or ``train.init_from`` does
                not fit.
        """
        found = find_together(resume, self.folder, self.processes)
        if found is None:
            if resume is None:
                self.folder.require_unused()
            else:
                log.info("no checkpoint in %s: starting anew", self.folder.path)
                self._may_continue = True
            self._begin()
            return
        path, state = found
        # Going on in the folder of another run would mix the two.
        self._may_continue = self.folder.path.resolve() in path.resolve().parents
        if not self._may_continue:
            self.folder.require_unused()
        report_differences(state, self.config, self.components, decision=changes, source=path)
        settle_data(self, state, decision=changes, source=path)
        self.load_state_dict(state)
        log.info("resumed from %s after step %d (epoch %d)", path, self.start_iter, self.epoch)

    @with_its_plugins
    def train(self, start_iter: int | None = None, max_iter: int | None = None) -> Outcome:
        """Train to the end of the config's epochs.

        Args:
            start_iter: Steps done before; by default what :meth:`resume_or_load` found.
            max_iter: Steps of the whole run; by default all epochs.

        Returns:
            How it ended; the metrics are in ``results``.
        """
        self._begin()
        self.claim_folder()
        self.hooks.warn_of_unclaimed_state()
        if self.is_first:
            self.folder.write_start(self.config, self.components, self.facts)
        losses = losses_of(self.model)
        if losses is not None:
            log.info("losses: %s", losses.describe())
        log.info("optimizer %s", self.config.train.optimizer.name)
        for line in describe_groups(self.optimizer.param_groups):
            log.info("  %s", line)
        if self.is_first:
            self.folder.write_status("running")
        log.info("numerics: %s", self.numerics.line())
        with self.numerics.applied():
            return super().train(
                self.start_iter if start_iter is None else start_iter,
                self.max_iter if max_iter is None else max_iter,
            )

    @functools.cached_property
    def facts(self) -> RunFacts:
        """What the run is made of beside its configuration; looked up when first asked for."""
        return RunFacts.of(self)

    def claim_folder(self) -> None:
        """Make the run folder this trainer's own; done by :meth:`train` if it was not before.

        Raises:
            UsageError: It holds another run.
        """
        if not self._may_continue:
            claim_together(self.folder, self.processes)
            self._may_continue = True

    def _models(self) -> list[nn.Module]:
        return [self.model, self.eval_model]

    def batches(self, epoch: int, start: int) -> Iterable[Batch]:
        """Yield the batches of an epoch, the waiting for them being measured."""
        return self.meter.timed(super().batches(epoch, start))

    @with_its_plugins
    def test(self) -> dict[str, dict[str, float]]:
        """Evaluate the current model on every test set.

        Returns:
            Metrics as fractions, by test set.
        """
        with uncompiled(self.config.train.compile), explained_out_of_memory(self, "evaluation"):
            evaluate_test_sets(self)
        return self.results.latest()

    def log_scalars(self, step: int, scalars: Mapping[str, float]) -> None:
        """Store numbers and hand them to the hooks.

        Args:
            step: Number of steps done, from 0.
            scalars: Numbers by name; a slash groups them: ``my_hook/norm``.

        Raises:
            PluginError: A value is no number, ``step`` is below 0, or it is called in ``on_log``.
        """
        scalars = checked_scalars(step, scalars, is_logging=self._is_logging)
        self._is_logging = True
        try:
            self._log_scalars(step, scalars)
        finally:
            self._is_logging = False

    def _log_scalars(self, step: int, scalars: Mapping[str, float]) -> None:
        # A median of the last learning rates or evaluations would be a number that never was.
        for name, value in scalars.items():
            is_noisy = name.startswith(("loss", "time/", "accuracy"))
            self.storage.put_scalar(name, value, smoothing_hint=is_noisy)
        self.hooks.on_log(trainer=self, step=step, scalars=scalars)

    # State.

    def state_dict(self, *, leave_out_broken: bool = False) -> dict[str, object]:
        """Return everything a resumed run needs, as tensors and plain types.

        Args:
            leave_out_broken: Whether a hook whose state cannot be had is left out.
        """
        return state_of(self, leave_out_broken=leave_out_broken)

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Take a state back, so that training goes on as if it had not stopped.

        Raises:
            CheckpointError: It belongs to another model, other identities, or another epoch length.
        """
        restore(self, state)
        self._has_begun = True

    def _begin(self) -> None:
        """Load what training begins with, once, and not where a checkpoint was loaded."""
        source = self.config.train.init_from
        if source is not None and not self._has_begun:
            self.initial_weights = init_from(self, source)
        self._has_begun = True

    def _wind_up(self, outcome: Outcome) -> None:
        try:
            super()._wind_up(outcome)
        except BaseException as error:
            # The run itself had ended well; a hook's last work, the report say, had not.
            if self.is_first:
                self.folder.write_status(
                    "failed", step=self.iter, max_step=self.max_iter, reason=told(error)
                )
            raise
