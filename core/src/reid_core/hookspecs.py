"""The hooks a run fires, and the marker that makes a method an implementation of one.

An implementation is a method with a hook's name, marked with :data:`hookimpl`, that asks for the
arguments it needs and no others::

    class GradientPrinter:
        @hookimpl
        def after_step(self, trainer, step, result):
            ...

Hooks of one run are called in the order the config lists them. Every hook runs in every process,
but for those that only watch or write. Arguments have no defaults: pluggy versions differ in what
they make of them.

A hook class may say three things of itself. ``observer = True``: the run does not depend on it, so
when it fails it is switched off and the run goes on; of several processes the first one has it.
``first_process_only = True``: the first process alone has it, for it writes files, say.
``uses_random = True``: it is part of the training and draws from the global random generators on
purpose.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from reid_core.config import Config, ConfigProblem
    from reid_core.contracts import Batch
    from reid_core.engine import Outcome, StepResult, TrainerBase

#: Name that hook markers carry; another pluggy host's hooks are never mistaken for ours.
PROJECT = "reid"

hookspec = pluggy.HookspecMarker(PROJECT)
#: Marks a method as a hook implementation.
hookimpl = pluggy.HookimplMarker(PROJECT)


class HookSpecs:
    """Every hook: when it fires, what it may change, what its return value means."""

    @hookspec
    def validate_config(self, config: Config) -> list[ConfigProblem]:
        """Collect what is wrong with a config, before data is read or anything is built.

        Fires once, also under ``reid-train --check``. No trainer exists yet. All implementations
        run; their problems are shown together and stop the run.
        """
        raise NotImplementedError

    @hookspec
    def before_train(self, trainer: TrainerBase) -> None:
        """Prepare for training; model, optimizer and loaders exist, a resumed state is loaded.

        Fires once a run.
        """

    @hookspec
    def before_epoch(self, trainer: TrainerBase, epoch: int) -> None:
        """Fires before the first step of each epoch, and again when an epoch is resumed midway."""

    @hookspec
    def before_step(self, trainer: TrainerBase, step: int, batch: Batch) -> None:
        """Fires before each step, the batch being on the device. Keep it nearly free."""

    @hookspec(firstresult=True)
    def run_step(self, trainer: TrainerBase, step: int, batch: Batch) -> StepResult:
        """Do one step. The default, which comes last, is the trainer's own ``run_step``.

        An implementation that returns something replaces it; a wrapper
        (``@hookimpl(wrapper=True)``) surrounds it. One that replaces it calls ``after_backward``
        itself: ``trainer.hooks.after_backward(trainer=trainer, step=step)``.
        """
        raise NotImplementedError

    @hookspec
    def after_backward(self, trainer: TrainerBase, step: int) -> None:
        """Fires in each step when all gradients are there, before the weights are updated.

        Gradients may be changed in place, for clipping say.
        """

    @hookspec
    def after_step(self, trainer: TrainerBase, step: int, result: StepResult) -> None:
        """Fires after each step. ``result`` holds detached tensors on the device.

        Reading their values makes the host wait for the device; ``on_log`` gets numbers.
        """

    @hookspec
    def after_epoch(self, trainer: TrainerBase, epoch: int) -> None:
        """Fires after the last step of each epoch; not for an epoch that was left midway."""

    @hookspec
    def before_eval(self, trainer: TrainerBase, name: str) -> None:
        """Fires before the evaluation of each test set; ``name`` is the set's."""

    @hookspec
    def after_eval(self, trainer: TrainerBase, name: str, metrics: Mapping[str, float]) -> None:
        """Fires after it, with the metrics as fractions (mAP, mINP, rank1, rank5, rank10)."""

    @hookspec
    def on_log(self, trainer: TrainerBase, step: int, scalars: Mapping[str, float]) -> None:
        """Take numbers for a log; they are floats on the host.

        Fires every ``log_every`` steps, at the end of an epoch, and after an evaluation. ``step``
        is the number of steps done.
        """

    @hookspec
    def after_checkpoint(self, trainer: TrainerBase, path: Path, step: int) -> None:
        """Fires after a checkpoint has its final name and is safe on disk.

        It is written while training goes on, so ``step`` may be some steps ago. In several
        processes it fires in the first one alone.
        """

    @hookspec(firstresult=True)
    def should_stop(self, trainer: TrainerBase, step: int) -> str | None:
        """Return a reason to end training cleanly after this step, or None.

        Fires after each step, after the last one of an epoch only behind ``after_epoch`` and its
        evaluation, and once before the first step of a resumed run.
        """

    @hookspec
    def on_exception(self, trainer: TrainerBase, exception: BaseException) -> None:
        """Fires once when training fails or is interrupted, before ``after_train``.

        All implementations run, even when one raises; the original exception is what surfaces.
        """

    @hookspec
    def after_train(self, trainer: TrainerBase, outcome: Outcome) -> None:
        """Finish. Fires exactly once if ``before_train`` was begun, however the run ended.

        All implementations run, even when one raises; an exception that ended the run is what
        surfaces.
        """
