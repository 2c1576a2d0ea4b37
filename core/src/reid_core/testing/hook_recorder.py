"""A hook that writes down every call of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from reid_core.config import Config, ConfigProblem
from reid_core.contracts import Batch
from reid_core.engine import Outcome, StepResult, TrainerBase
from reid_core.hookspecs import hookimpl


@dataclass(frozen=True)
class RecordedCall:
    """One call of a hook.

    Args:
        hook: Its name.
        arguments: Its arguments by name.
    """

    hook: str
    arguments: Mapping[str, object]


class HookRecorder:
    """Records every hook that is called, and changes nothing.

    It is registered like any other hook::

        trainer.register_hooks([hook_recorder])
        trainer.train()
        assert hook_recorder.popcall("before_train").arguments["trainer"] is trainer

    Attributes:
        calls: The calls that were not popped yet, in their order.
    """

    def __init__(self) -> None:
        self.calls: list[RecordedCall] = []

    def popcall(self, hook: str) -> RecordedCall:
        """Take the first call of a hook out of the record, and return it.

        Raises:
            AssertionError: There is none.
        """
        for call in self.calls:
            if call.hook == hook:
                self.calls.remove(call)
                return call
        raise AssertionError(f"no call of {hook!r} is left; there are {self.names()}")

    def names(self) -> list[str]:
        """Return the names of the calls that were not popped yet."""
        return [call.hook for call in self.calls]

    def clear(self) -> None:
        """Forget all calls."""
        self.calls.clear()

    def _note(self, hook: str, **arguments: object) -> None:
        self.calls.append(RecordedCall(hook, arguments))

    @hookimpl
    def validate_config(self, config: Config) -> list[ConfigProblem]:
        """Record the call; find no problem."""
        self._note("validate_config", config=config)
        return []

    @hookimpl
    def before_train(self, trainer: TrainerBase) -> None:
        """Record the call."""
        self._note("before_train", trainer=trainer)

    @hookimpl
    def before_epoch(self, trainer: TrainerBase, epoch: int) -> None:
        """Record the call."""
        self._note("before_epoch", trainer=trainer, epoch=epoch)

    @hookimpl
    def before_step(self, trainer: TrainerBase, step: int, batch: Batch) -> None:
        """Record the call."""
        self._note("before_step", trainer=trainer, step=step, batch=batch)

    @hookimpl(wrapper=True)
    def run_step(self, trainer: TrainerBase, step: int, batch: Batch):  # type: ignore[no-untyped-def]  # noqa: ANN201 — a wrapper's return type is no one's business
        """Record the call; leave the step to the others."""
        self._note("run_step", trainer=trainer, step=step, batch=batch)
        return (yield)

    @hookimpl
    def after_backward(self, trainer: TrainerBase, step: int) -> None:
        """Record the call."""
        self._note("after_backward", trainer=trainer, step=step)

    @hookimpl
    def after_step(self, trainer: TrainerBase, step: int, result: StepResult) -> None:
        """Record the call."""
        self._note("after_step", trainer=trainer, step=step, result=result)

    @hookimpl
    def after_epoch(self, trainer: TrainerBase, epoch: int) -> None:
        """Record the call."""
        self._note("after_epoch", trainer=trainer, epoch=epoch)

    @hookimpl
    def before_eval(self, trainer: TrainerBase, name: str) -> None:
        """Record the call."""
        self._note("before_eval", trainer=trainer, name=name)

    @hookimpl
    def after_eval(self, trainer: TrainerBase, name: str, metrics: Mapping[str, float]) -> None:
        """Record the call."""
        self._note("after_eval", trainer=trainer, name=name, metrics=metrics)

    @hookimpl
    def on_log(self, trainer: TrainerBase, step: int, scalars: Mapping[str, float]) -> None:
        """Record the call."""
        self._note("on_log", trainer=trainer, step=step, scalars=scalars)

    @hookimpl
    def after_checkpoint(self, trainer: TrainerBase, path: Path, step: int) -> None:
        """Record the call."""
        self._note("after_checkpoint", trainer=trainer, path=path, step=step)

    @hookimpl
    def should_stop(self, trainer: TrainerBase, step: int) -> None:
        """Record the call; give no reason to stop."""
        self._note("should_stop", trainer=trainer, step=step)

    @hookimpl
    def on_exception(self, trainer: TrainerBase, exception: BaseException) -> None:
        """Record the call."""
        self._note("on_exception", trainer=trainer, exception=exception)

    @hookimpl
    def after_train(self, trainer: TrainerBase, outcome: Outcome) -> None:
        """Record the call."""
        self._note("after_train", trainer=trainer, outcome=outcome)
