"""A saved state back into a trainer, and what differs from then to now."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from torch import Tensor, nn

from reid_core.checkpoint.random_state import set_random_state
from reid_core.checkpoint.weights import load_into
from reid_core.config import Config
from reid_core.engine.provenance import require_components, used_components
from reid_core.engine.results import Results
from reid_core.errors import CheckpointError
from reid_core.plugins.index import ComponentRef

if TYPE_CHECKING:
    from reid_core.engine.default_trainer import DefaultTrainer

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
            "classifier means other people; resume with the same data, or use the weights alone: "
            "--set model.backbone.weights=FILE"
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
    _load_weights(trainer.model, cast("Mapping[str, Tensor]", state["model"]))
    _load_optimizer(trainer, cast("dict[str, object]", state["optimizer"]))
    # Neither is in the checkpoints of earlier versions, which had no float16.
    trainer.skipped_steps = cast("int", state.get("skipped_steps", 0))
    scaler = cast("dict[str, object] | None", state.get("scaler"))
    if trainer.scaler is not None and scaler is not None:
        trainer.scaler.load_state_dict(scaler)
    trainer.iter = trainer.start_iter = cast("int", state["step"])
    trainer.results = Results.from_plain(cast("dict[str, object]", state["results"]))
    trainer.hooks.load_state_dict(cast("dict[str, object]", state["hooks"]))
    set_random_state(cast("dict[str, object]", state["random"]))


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


def _load_weights(model: nn.Module, state: Mapping[str, Tensor]) -> None:
    report = load_into(model, state, source="checkpoint")
    log.info("%s", report.summary())


def _load_optimizer(trainer: DefaultTrainer, state: dict[str, object]) -> None:
    optimizer = trainer.optimizer
    # Only what a config sets: some optimizers keep state of theirs in the groups.
    own = trainer.config.train.optimizer.parameters
    settings = {"name", "lr", "initial_lr", "weight_decay", *own}
    fresh = [{k: v for k, v in g.items() if k in settings} for g in optimizer.param_groups]
    try:
        optimizer.load_state_dict(state)
    except (ValueError, KeyError) as error:
        raise CheckpointError(
            f"the checkpoint's optimizer does not fit: {error}; resume with the optimizer and the "
            "trainable parameters it was saved with"
        ) from error
    # The moments come from the checkpoint; rates and decays are what the config says now.
    for group, wanted in zip(optimizer.param_groups, fresh, strict=True):
        group.update(wanted)


def report_differences(
    state: Mapping[str, object], config: Config, components: Sequence[ComponentRef]
) -> None:
    """Warn of every setting and version that differs from the checkpoint's.

    Raises:
        PluginError: A component's name means another distribution's now.
    """
    require_components(config, used_components(state["components"]))
    for path, now, then in differences(cast("dict[str, object]", state["config"]), config):
        if path not in ("output", "description"):
            log.warning("resume: %s is %r now, was %r in the checkpoint", path, now, then)
    versions = {(r.kind, r.name): f"{r.dist} {r.version}" for r in components}
    for entry in cast("list[dict[str, str]]", state["components"]):
        was = f"{entry['dist']} {entry['version']}"
        now = versions.get((entry["kind"], entry["name"]), was)
        if now != was:
            log.warning("resume: %s %s is %s, was %s", entry["kind"], entry["name"], now, was)


def differences(
    saved: Mapping[str, object], config: Config
) -> Iterator[tuple[str, object, object]]:
    """Yield every setting that differs from a saved configuration.

    Args:
        saved: A configuration as plain types.
        config: The current one.

    Yields:
        Dotted path, value now, value then; None where there is none.
    """
    then, now = dict(_leaves(dict(saved))), dict(_leaves(config.plain()))
    for path in sorted({*then, *now}):
        if then.get(path) != now.get(path):
            yield path, now.get(path), then.get(path)


def _leaves(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(value, dict) and value:
        for key, child in value.items():
            yield from _leaves(child, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and value:
        for position, child in enumerate(value):
            yield from _leaves(child, f"{path}.{position}")
    else:
        yield path, value
