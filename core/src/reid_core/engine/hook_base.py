"""The hook class of the seeds, for people who come from FastReID or detectron2."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from reid_core.engine.trainer_base import TrainerBase


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
