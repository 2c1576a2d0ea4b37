"""Back to the newest checkpoint while training goes on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from torch import Tensor

from reid_core.checkpoint.folder import load_checkpoint
from reid_core.engine.faults.finite_tensors import told
from reid_core.engine.resuming.restore import load_optimizer, load_weights
from reid_core.errors import TrainingError

if TYPE_CHECKING:
    from reid_core.contracts import ReidModel
    from reid_core.engine.default_trainer import DefaultTrainer
    from reid_core.engine.step_trainer import StepTrainer

#: Hooks of the engine that tell what has happened, which is not undone.
_KEPT = ("divergence", "meter")


def roll_back(trainer: StepTrainer, *, because: str) -> Path:
    """Take model, optimizer, scaler and hooks from the newest checkpoint of the run.

    The number of the step, the data, the random numbers and the results stay: the batches since the
    checkpoint are passed over, so that what failed is not met again. Their steps count as skipped,
    so the schedule goes on from where the checkpoint stood.

    Args:
        trainer: In a step whose update will not be done.
        because: What happened, for the message.

    Returns:
        The checkpoint.

    Raises:
        TrainingError: The run has no checkpoint yet.
        CheckpointError: None is whole, and finite.
    """
    path, state = _newest(trainer, because)
    load_weights(trainer.model, cast("Mapping[str, Tensor]", state["model"]))
    load_optimizer(trainer, cast("dict[str, object]", state["optimizer"]))
    scaler = cast("dict[str, object] | None", state["scaler"])
    if trainer.scaler is not None and scaler is not None:
        trainer.scaler.load_state_dict(scaler)
    hooks = cast("dict[str, object]", state["hooks"])
    now = {id_: hook for id_, hook in trainer.hooks.state_dict().items() if id_ in _KEPT}
    trainer.hooks.load_state_dict({**hooks, **now})
    if state["eval_model"] is None:
        trainer.eval_model = cast("ReidModel", trainer.model)
    done = cast("int", state["step"]) - cast("int", state["skipped_steps"])
    # Without this step, which is counted as skipped by whoever skips it.
    trainer.skipped_steps = trainer.iter - done
    return path


def wait_for_checkpoints(trainer: StepTrainer) -> None:
    """Wait until what is being saved is on the disk.

    Raises:
        CheckpointError: It could not be written, and there is no earlier one.
    """
    from reid_core.hooks.checkpoint import Checkpoint

    for _, hook in trainer.hooks.items():
        if isinstance(hook, Checkpoint):
            hook.wait(cast("DefaultTrainer", trainer))


def _newest(trainer: StepTrainer, because: str) -> tuple[Path, dict[str, object]]:
    wait_for_checkpoints(trainer)
    found = None
    if trainer.processes.is_first:
        found = trainer.folder.checkpoints.load_latest(lambda state: _flaw(trainer, state))
    path = trainer.processes.from_first(None if found is None else found[0])
    if path is None:
        raise TrainingError(
            f"{because}; train.on_nan=rollback finds no checkpoint to go back to in "
            f"{trainer.folder.path / 'checkpoints'}: lower train.optimizer.lr, lengthen the "
            "warm-up, or let the hook checkpoint save earlier, by every_steps"
        )
    return path, load_checkpoint(path) if found is None else found[1]


def _flaw(trainer: StepTrainer, state: Mapping[str, object]) -> str:
    """Say what is not finite in a checkpoint: going back to it would mend nothing."""
    names = ("model", "eval_model")
    states = [cast("Mapping[str, Tensor] | None", state[name]) for name in names]
    bad = trainer.finite.bad_tensors(*states)
    return f"is not finite: {told(bad)}" if bad else ""
