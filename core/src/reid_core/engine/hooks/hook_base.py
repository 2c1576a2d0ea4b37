"""The hook class of the seeds, for people who come from FastReID or detectron2."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, TypeAlias

if TYPE_CHECKING:
    from reid_core.engine.trainer_base import TrainerBase

#: A function of a :class:`CallbackHook`.
Callback: TypeAlias = "Callable[[TrainerBase], object]"


class HookBase:
    """A hook with six methods that take no argument; override those you need.

    The order of calls in a run::

        hook.before_train()
        for each epoch:
            hook.before_epoch()
            for each step:
                hook.before_step()
                trainer.run_step(batch)
                hook.after_step()
                trainer.iter += 1
            hook.after_epoch()
        hook.after_train()

    ``after_train`` also runs when training fails. A subclass may define any other hook of
    :mod:`reid_core.hookspecs` too, marked with ``hookimpl``. State that a resumed run needs goes
    into ``state_dict`` and ``load_state_dict``.

    Attributes:
        trainer: The trainer, set when the hook is registered; a weak reference, so that a hook
            does not keep a finished run alive.
    """

    trainer: TrainerBase

    #: The methods that are hooks by their name alone.
    SEED_METHODS: ClassVar[tuple[str, ...]] = (
        "before_train",
        "after_train",
        "before_epoch",
        "after_epoch",
        "before_step",
        "after_step",
    )

    def before_train(self) -> None:
        """Run before the first step."""

    def after_train(self) -> None:
        """Run after the last step, however training ended."""

    def before_epoch(self) -> None:
        """Run before each epoch."""

    def after_epoch(self) -> None:
        """Run after each epoch; ``trainer.iter`` is the number of steps done by then."""

    def before_step(self) -> None:
        """Run before each step."""

    def after_step(self) -> None:
        """Run after each step; ``trainer.iter`` is still this step's number."""


class CallbackHook(HookBase):
    """A hook made of functions, for a line or two that need no class.

    Each function is called with the trainer. All are let go after training, so that what they hold
    on to does not outlive the run.

    Args:
        before_train: Run before the first step.
        after_train: Run after the last step, however training ended.
        before_epoch: Run before each epoch.
        after_epoch: Run after each epoch.
        before_step: Run before each step.
        after_step: Run after each step.
    """

    def __init__(
        self,
        *,
        before_train: Callback | None = None,
        after_train: Callback | None = None,
        before_epoch: Callback | None = None,
        after_epoch: Callback | None = None,
        before_step: Callback | None = None,
        after_step: Callback | None = None,
    ) -> None:
        given = {
            "before_train": before_train,
            "after_train": after_train,
            "before_epoch": before_epoch,
            "after_epoch": after_epoch,
            "before_step": before_step,
            "after_step": after_step,
        }
        self._callbacks = {name: function for name, function in given.items() if function}

    def before_train(self) -> None:
        """Call ``before_train``."""
        self._call("before_train")

    def after_train(self) -> None:
        """Call ``after_train``, then let all functions go."""
        try:
            self._call("after_train")
        finally:
            self._callbacks.clear()

    def before_epoch(self) -> None:
        """Call ``before_epoch``."""
        self._call("before_epoch")

    def after_epoch(self) -> None:
        """Call ``after_epoch``."""
        self._call("after_epoch")

    def before_step(self) -> None:
        """Call ``before_step``."""
        self._call("before_step")

    def after_step(self) -> None:
        """Call ``after_step``."""
        self._call("after_step")

    def _call(self, name: str) -> None:
        if name in self._callbacks:
            self._callbacks[name](self.trainer)
