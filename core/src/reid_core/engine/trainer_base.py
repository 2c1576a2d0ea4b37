"""The loop, and nothing but the loop."""

from __future__ import annotations

import logging
import signal
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

import torch

from reid_core.contracts import Batch
from reid_core.data.worker_death import told_worker_deaths
from reid_core.distributed.processes import ALONE, Processes
from reid_core.engine.event_storage import EventStorage
from reid_core.engine.hooks.hook_blame import note_culprit
from reid_core.engine.hooks.hook_manager import DEFAULT_STEP, HookManager
from reid_core.engine.hooks.hook_share import hooks_of_process
from reid_core.engine.outcome import Outcome
from reid_core.engine.step_result import StepResult
from reid_core.errors import Interrupted, TrainingError
from reid_core.hookspecs import hookimpl
from reid_core.plain_errors import plain_errors, told

if TYPE_CHECKING:
    from reid_core.distributed.failure_watch import FailureWatch

log = logging.getLogger("reid_core")


class TrainerBase:
    """A trainer whose only assumption is that training runs in a loop.

    The whole loop, with the hooks it fires::

        before_train
        for each epoch:
            before_epoch
            for each batch:
                before_step, run_step (in it after_backward), after_step
                should_stop     # after the last step of an epoch: behind after_epoch
            after_epoch
        on_exception        # only if something was raised
        after_train         # always, with the outcome

    A subclass defines :meth:`run_step`, and :meth:`batches` unless its steps need no data. For
    anything fancier, write your own loop: it is 40 lines.

    Args:
        iters_per_epoch: Steps an epoch; None makes the whole run one epoch.

    Attributes:
        iter: Number of the current step; at the end of an epoch, of steps done.
        start_iter: Step this run started at.
        max_iter: Step it ends before.
        storage: Scalars with their history.
        hooks: The hooks, in call order.
        processes: The processes that train together; by default this one alone.
    """

    processes: Processes = ALONE
    #: Ends this process when another one fails; None for one process alone.
    failure_watch: FailureWatch | None = None

    def __init__(self, *, iters_per_epoch: int | None = None) -> None:
        self.iters_per_epoch = iters_per_epoch
        self.iter = 0
        self.start_iter = 0
        self.max_iter = 0
        self.storage = EventStorage(0)
        self.hooks = HookManager()
        self.hooks.add(_DefaultStep(), id=DEFAULT_STEP)
        self._interrupt: int | None = None
        #: The signal that all processes leave for, where there are several.
        self._agreed_interrupt: int | None = None
        self._is_step_done = False
        self._running_epoch: int | None = None

    @property
    def is_first(self) -> bool:
        """Whether this is the process that writes files: the only one, or rank 0 of several."""
        return self.processes.is_first

    @property
    def epoch(self) -> int:
        """Number of the epoch that is running or, before and after training, of the next step.

        From 0. In ``after_epoch`` it is still the epoch that has just ended.
        """
        if self._running_epoch is not None:
            return self._running_epoch
        return self.iter // self._epoch_length()

    @property
    def steps_done(self) -> int:
        """Number of steps whose update is in the weights.

        Between two steps it is ``iter``; in ``after_step`` it is one more.
        """
        return self.iter + 1 if self._is_step_done else self.iter

    @property
    def max_epoch(self) -> int:
        """Number of epochs of the whole run; the last one may be cut short."""
        return -(-self.max_iter // self._epoch_length())

    def register_hooks(self, hooks: Sequence[object | None]) -> None:
        """Add hooks after those already there; they are called in the order given.

        In several processes an observer, and a hook with ``first_process_only = True``, is added in
        the first one only.

        Args:
            hooks: Objects with marked methods, or :class:`HookBase`; None is left out.

        Raises:
            PluginError: One is no hook, or a method of it does not fit its hook.
        """
        given = [(None, hook) for hook in hooks if hook is not None]
        self.hooks.extend(hooks_of_process(given, self.processes))
        self.hooks.bind(self)

    def train(self, start_iter: int, max_iter: int) -> Outcome:
        """Run the steps from ``start_iter`` up to, not including, ``max_iter``.

        Args:
            start_iter: Steps that were done before, 0 for a new run.
            max_iter: Steps of the whole run.

        Returns:
            How it ended: completed or stopped.

        Raises:
            BaseException: Whatever a step or a hook raised, unchanged; ``after_train`` has run.
        """
        self.iter = self.start_iter = start_iter
        self.max_iter = max_iter
        self._interrupt = self._agreed_interrupt = self._running_epoch = None
        self._is_step_done = False
        self.hooks.watch_random_state()
        with EventStorage(start_iter) as self.storage:
            try:
                guard = self.failure_watch.guard() if self.failure_watch else nullcontext()
                with guard, told_worker_deaths():
                    reason = self._loop()
            except BaseException as error:
                # For the log file; whoever catches it shows it to the person.
                log.debug("training ended by an exception", exc_info=error)
                self._name_culprit(error)
                self._wind_up(_outcome_of(error))
                raise
            outcome = Outcome("stopped", reason) if reason else Outcome("completed")
            self._wind_up(outcome)
        return outcome

    def _loop(self) -> str | None:
        self.hooks.before_train(trainer=self)
        if self.iter > 0:
            # A run that had been stopped for a reason is not trained on when it is resumed.
            reason = self._agreed(self.hooks.should_stop(trainer=self, step=self.iter - 1))
            if reason:
                return reason
        while self.iter < self.max_iter:
            reason = self._run_epoch()
            if reason:
                return reason
        return None

    def _run_epoch(self) -> str | None:
        length = self._epoch_length()
        epoch = self._running_epoch = self.storage.epoch = self.iter // length
        end = min((epoch + 1) * length, self.max_iter)
        self.hooks.before_epoch(trainer=self, epoch=epoch)
        for batch in self.batches(epoch, self.iter - epoch * length):
            step = self.iter
            self.storage.iter = step
            self.hooks.before_step(trainer=self, step=step, batch=batch)
            result = self.hooks.run_step(trainer=self, step=step, batch=batch)
            self._is_step_done = True
            self.hooks.after_step(trainer=self, step=step, result=result)
            self.iter, self._is_step_done = step + 1, False
            # At the end of an epoch a stop waits for after_epoch: a resumed run begins with the
            # next epoch and would never call it.
            if self.iter == end:
                break
            reason = self._agreed(self.hooks.should_stop(trainer=self, step=step))
            if reason:
                return reason
            self.check_interrupt()
        self._require_whole_epoch(epoch, end)
        self.hooks.after_epoch(trainer=self, epoch=epoch)
        self._agreed(None)
        self.check_interrupt()
        return self._agreed(self.hooks.should_stop(trainer=self, step=self.iter - 1))

    def _agreed(self, reason: str | None) -> str | None:
        """Return the reason of any process to stop; note a signal that any of them got."""
        processes = self.processes
        if processes.count == 1:
            return reason
        if not processes.any(bool(reason) or self._interrupt is not None):
            return None
        signals = processes.gather([] if self._interrupt is None else [self._interrupt])
        self._agreed_interrupt = signals[0] if signals else None
        if signals and self._interrupt is None and self.is_first:
            name = signal.Signals(signals[0]).name
            log.info("%s, sent to another process: saving", name)
        reasons = processes.gather([reason] if reason else [])
        return reasons[0] if reasons else None

    def _name_culprit(self, error: BaseException) -> None:
        culprit = None if isinstance(error, Interrupted) else self.hooks.culprit(error)
        if culprit is not None:
            note_culprit(error, culprit)

    def _wind_up(self, outcome: Outcome) -> None:
        """Tell the hooks how it ended; an error of theirs never replaces the run's own."""
        errors: list[BaseException] = []
        if outcome.exception is not None:
            errors += self.hooks.on_exception(trainer=self, exception=outcome.exception)
        errors += self.hooks.after_train(trainer=self, outcome=outcome)
        if not errors:
            return
        if outcome.exception is None:
            raise (
                errors[0] if len(errors) == 1 else BaseExceptionGroup("after_train failed", errors)
            )
        for error in errors:
            is_plain = bool(plain_errors(error))
            log.error("while the run was wound up: %s", error, exc_info=None if is_plain else error)
            notes = ", ".join(getattr(error, "__notes__", ()))
            outcome.exception.add_note(
                f"while the run was wound up: {told(error)}{f' ({notes})' if notes else ''}"
            )

    def batches(self, epoch: int, start: int) -> Iterable[Batch]:
        """Yield the batches of an epoch from number ``start`` on.

        Without data, as here, every step gets an empty placeholder.
        """
        return _no_batches()

    def run_step(self, batch: Batch) -> StepResult:
        """Do one step: loss, gradient, update."""
        raise NotImplementedError(f"{type(self).__name__} must define run_step")

    def request_stop(self, signum: int) -> None:
        """Ask the run to leave before the next step; safe in a signal handler."""
        self._interrupt = signum

    def check_interrupt(self) -> None:
        """Leave if that was asked for; long work between steps calls this now and then.

        Of several processes all leave at the same place: after a step that they agreed upon.

        Raises:
            Interrupted: A signal asked for it.
            OtherProcessError: Another process has failed.
        """
        if self.failure_watch is not None:
            self.failure_watch.check()
        if self.processes.count == 1:
            self.check_own_interrupt()
        elif self._agreed_interrupt is not None:
            raise Interrupted(self._agreed_interrupt)

    def check_own_interrupt(self) -> None:
        """Leave if this process was asked to, whatever others do.

        For work inside of :meth:`Processes.together`, which ends the others too.

        Raises:
            Interrupted: A signal asked for it.
        """
        if self._interrupt is not None:
            raise Interrupted(self._interrupt)

    def _epoch_length(self) -> int:
        return self.iters_per_epoch or max(self.max_iter, 1)

    def _require_whole_epoch(self, epoch: int, end: int) -> None:
        if self.iter != end:
            raise TrainingError(
                f"epoch {epoch} ended after step {self.iter}, expected {end}: the loader gave "
                "fewer batches than its length says"
            )


class _DefaultStep:
    """The step when no hook replaces it: the trainer's own."""

    @hookimpl(trylast=True)
    def run_step(self, trainer: TrainerBase, batch: Batch) -> StepResult:
        return trainer.run_step(batch)


def _no_batches() -> Iterator[Batch]:
    nothing = torch.empty(0, dtype=torch.int64)
    while True:
        yield Batch(images=torch.empty(0), pids=nothing, camids=nothing, index=nothing)


def _outcome_of(error: BaseException) -> Outcome:
    if isinstance(error, Interrupted | KeyboardInterrupt):
        return Outcome("interrupted", str(error) or "Ctrl-C", error)
    return Outcome("failed", f"{type(error).__name__}: {error}", error)
