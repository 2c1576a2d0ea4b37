"""The state of a trainer, as a checkpoint holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reid_core.checkpoint.random_state import random_state
from reid_core.distributed.shares import whole
from reid_core.engine.parallel.rank_random import random_of_ranks

if TYPE_CHECKING:
    from reid_core.engine.default_trainer import DefaultTrainer


def state_of(trainer: DefaultTrainer, *, leave_out_broken: bool = False) -> dict[str, object]:
    """Return everything a resumed run needs, as tensors and plain types.

    Args:
        trainer: The trainer, between two steps or after one.
        leave_out_broken: Whether a hook whose state cannot be had is left out.
    """
    per_epoch, step = len(trainer.data_loader), trainer.steps_done
    plain = trainer.parallel.evaluated if trainer.parallel is not None else trainer.model
    has_own = trainer.eval_model is not plain
    return {
        "model": whole(trainer.model.state_dict()),
        "eval_model": trainer.eval_model.state_dict() if has_own else None,
        "optimizer": whole(trainer.optimizer.state_dict()),
        # For people who open the file: the rate is a function of the step.
        "schedule": {"lr": [group["lr"] for group in trainer.optimizer.param_groups]},
        "scaler": trainer.scaler.state_dict() if trainer.scaler is not None else None,
        "skipped_steps": trainer.skipped_steps,
        "step": step,
        "epoch": step // per_epoch,
        "sampler": {"epoch": step // per_epoch, "batch": step % per_epoch},
        "iters_per_epoch": per_epoch,
        "results": trainer.results.to_plain(),
        "hooks": trainer.hooks.state_dict(leave_out_broken=leave_out_broken),
        "random": random_state(),
        **random_of_ranks(trainer.processes, is_failing=leave_out_broken),
        "label_map": trainer.label_map.to_plain(),
        "camera_map": trainer.camera_map.to_plain(),
        "num_views": trainer.num_views,
        "config": trainer.config.plain(),
        "components": [
            {"kind": r.kind, "name": r.name, "dist": r.dist, "version": r.version}
            for r in trainer.components
        ],
        "provenance": trainer.facts.saved,
    }
