"""A saved state back into a trainer, and what differs from then to now."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from torch import Tensor, nn

from reid_core.checkpoint.weights import load_into
from reid_core.config import Config
from reid_core.distributed.shares import share_states
from reid_core.engine.parallel.rank_random import set_random_of_rank
from reid_core.engine.record.provenance import require_components, used_components
from reid_core.engine.results import Results
from reid_core.engine.resuming.changes import (
    Decision,
    changes_of,
    refuse_drop,
    report_changes,
    require_decision,
)
from reid_core.errors import CheckpointError
from reid_core.plugins.index import ComponentRef

if TYPE_CHECKING:
    from reid_core.engine.default_trainer import DefaultTrainer
    from reid_core.engine.step_trainer import StepTrainer

log = logging.getLogger("reid_core")


def restore(trainer: DefaultTrainer, state: Mapping[str, object]) -> None:
    """Take a whole state, after checking that the data is the same.

    Raises:
        CheckpointError: It belongs to another model, other identities, or another epoch length.
    """
    _require_same_names(state["label_map"], trainer.label_map.to_plain())
    if state["label_map"] != trainer.label_map.to_plain():
        raise CheckpointError(
            "the checkpoint was trained on other identities than data.train holds now, so its "
            "classifier means other people; resume with the same data, or begin a new run with its "
            "weights alone: --init-from FILE"
        )
    # Checkpoints of the first release do not say it; they know no conditions either.
    if trainer.model.conditions and state.get("camera_map") != trainer.camera_map.to_plain():
        raise CheckpointError(
            "the checkpoint was trained with other cameras than data.train has now, and the model "
            "is conditioned on them; resume with the same data"
        )
    if state["iters_per_epoch"] != len(trainer.data_loader):
        raise CheckpointError(
            f"the checkpoint's epochs had {state['iters_per_epoch']} steps, now one has "
            f"{len(trainer.data_loader)}: batch or data changed; resume with the same ones"
        )
    if trainer.config.train.init_from is not None:
        log.info("train.init_from is not read again: the checkpoint has all weights")
    load_weights(trainer.model, cast("Mapping[str, Tensor]", state["model"]))
    load_optimizer(trainer, cast("dict[str, object]", state["optimizer"]))
    # Neither is in the checkpoints of earlier versions, which had no float16.
    trainer.skipped_steps = cast("int", state.get("skipped_steps", 0))
    scaler = cast("dict[str, object] | None", state.get("scaler"))
    if trainer.scaler is not None and scaler is not None:
        trainer.scaler.load_state_dict(scaler)
    trainer.iter = trainer.start_iter = cast("int", state["step"])
    trainer.results = Results.from_plain(cast("dict[str, object]", state["results"]))
    trainer.hooks.load_state_dict(cast("dict[str, object]", state["hooks"]))
    set_random_of_rank(state, trainer.processes, seed=trainer.config.seed)


def _require_same_names(saved: object, now: Sequence[Mapping[str, object]]) -> None:
    """Refuse a set of another name first: all else may be as it was."""
    sets = cast("Sequence[Mapping[str, object]]", saved)
    if [one["pids"] for one in sets] != [one["pids"] for one in now]:
        return
    before = [str(one["dataset"]) for one in sets]
    names = [str(one["dataset"]) for one in now]
    if before != names:
        raise CheckpointError(
            f"the checkpoint was trained on the same identities, of a data set called "
            f"{', '.join(before)}; data.train calls it {', '.join(names)}: give it its old name, "
            "by title or by the name of the table"
        )


def load_weights(model: nn.Module, state: Mapping[str, Tensor]) -> None:
    """Load the weights of a checkpoint, all of them, and say how many."""
    report = load_into(model, state, source="checkpoint")
    log.info("%s", report.summary())


def load_optimizer(trainer: StepTrainer, state: dict[str, object]) -> None:
    """Load an optimizer's state; rates and decays stay those of the configuration.

    Raises:
        CheckpointError: It is that of other parameters, or of another optimizer.
    """
    optimizer = trainer.optimizer
    # Only what a config sets: some optimizers keep state of theirs in the groups.
    own = trainer.config.train.optimizer.parameters
    settings = {"name", "lr", "initial_lr", "weight_decay", *own}
    fresh = [{k: v for k, v in g.items() if k in settings} for g in optimizer.param_groups]
    try:
        optimizer.load_state_dict(dict(share_states(state, optimizer)))
    except (ValueError, KeyError) as error:
        raise CheckpointError(
            f"the checkpoint's optimizer does not fit: {error}; resume with the optimizer and the "
            "trainable parameters it was saved with"
        ) from error
    # The moments come from the checkpoint; rates and decays are what the config says now. Where
    # that is what it said then, the rate of the last step stays until the next one sets its own.
    for group, wanted in zip(optimizer.param_groups, fresh, strict=True):
        if "initial_lr" in wanted and wanted["initial_lr"] == group.get("initial_lr"):
            wanted.pop("lr", None)
        group.update(wanted)


def report_differences(
    state: Mapping[str, object],
    config: Config,
    components: Sequence[ComponentRef],
    *,
    decision: Decision | None,
    source: Path,
) -> None:
    """Warn of every setting and version that differs from the checkpoint's.

    Args:
        state: The checkpoint.
        config: The configuration that the trainer is built with.
        components: What it uses.
        decision: What to do with settings that differ.
        source: The checkpoint's file.

    Raises:
        PluginError: A component's name means another distribution's now.
        UsageError: A setting differs, and that needs another decision.
    """
    require_components(config, used_components(state["components"]))
    changes = changes_of(cast("dict[str, object]", state["config"]), config)
    require_decision(changes, decision, source=source)
    if decision == "drop":
        refuse_drop(changes, source=source)
    report_changes(changes)
    versions = {(r.kind, r.name): f"{r.dist} {r.version}" for r in components}
    for entry in cast("list[dict[str, str]]", state["components"]):
        was = f"{entry['dist']} {entry['version']}"
        now = versions.get((entry["kind"], entry["name"]), was)
        if now != was:
            log.warning("resume: %s %s is %s, was %s", entry["kind"], entry["name"], now, was)
