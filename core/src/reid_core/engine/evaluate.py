"""Evaluation without training: a model from weights, figures on the test sets."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from reid_core.checkpoint.artifact import read_info
from reid_core.checkpoint.folder import load_checkpoint
from reid_core.checkpoint.random_state import seed_everything
from reid_core.checkpoint.weights import load_into, read_state_dict, require_file
from reid_core.config import Config
from reid_core.config.load import config_from_plain
from reid_core.contracts import ReidModel
from reid_core.data.sources import Sources
from reid_core.engine.check import check_config
from reid_core.engine.device import pick_device
from reid_core.engine.evaluator import Evaluator
from reid_core.engine.results import Evaluation
from reid_core.engine.run_folder import RunFolder
from reid_core.errors import CheckpointError
from reid_core.models.build import TRAINING_ONLY_KEYS, build_model

log = logging.getLogger("reid_core")


def find_weights(path: Path) -> Path:
    """Return the file to evaluate: ``path``, or the best or newest weights of a run folder.

    Raises:
        CheckpointError: There is no such file, or the run has none.
    """
    path = path.expanduser()
    if not path.is_dir():
        return require_file(path, what="checkpoint")
    candidates = [
        path / "weights" / "best.safetensors",
        path / "weights" / "last.safetensors",
        *RunFolder(path).checkpoints.paths(),
    ]
    for candidate in candidates:
        if candidate.is_file():
            log.info("weights: %s", candidate)
            return candidate
    raise CheckpointError(f"run folder {path} holds no weights yet (looked for {candidates[0]})")


def config_of_weights(path: Path, overrides: Sequence[str] = ()) -> Config:
    """Return the config that weights were trained with, which is stored in the file.

    Raises:
        CheckpointError: The file holds none; name one.
    """
    if path.suffix == ".safetensors":
        info = read_info(path)
        plain = info.get("config") if info else None
    else:
        plain = load_checkpoint(path)["config"]
    if plain is None:
        raise CheckpointError(f"{path} does not say how its model is built; name it by --config")
    return config_from_plain(cast("dict[str, object]", plain), overrides, source=str(path))


def load_model(config: Config, weights: Path | None) -> ReidModel:
    """Build the model for embedding and load weights into it.

    It has no classifier, so it does not matter for how many identities it was trained.

    Args:
        config: Which model.
        weights: A checkpoint or weights file; None keeps what the backbone loaded by itself.

    Raises:
        CheckpointError: A key that is no classifier is missing, unexpected, or of another shape.
    """
    check_config(config)
    seed_everything(config.seed)
    model = build_model(_without_backbone_weights(config) if weights else config, num_classes=None)
    if weights is not None:
        state = read_state_dict(weights)
        report = load_into(model, state, source=str(weights), ignore=TRAINING_ONLY_KEYS)
        log.info("%s", report.summary())
        if report.ignored:
            log.info("the classifier is not used for embedding")
    return model.to(pick_device(config.device)).eval()


def evaluate_model(config: Config, model: ReidModel) -> list[Evaluation]:
    """Evaluate a model on the test sets of a config.

    Returns:
        One record a test set; step and epoch are 0, nothing was trained.
    """
    sources = Sources(train=[], test=config.data.test_sets)
    device = pick_device(config.device)
    return [
        Evaluation.of(
            evaluator.name, evaluator.evaluate(model, lambda: None).result, step=0, epoch=0.0
        )
        for evaluator in (Evaluator(s, config, device) for s in sources.test_sets())
    ]


def _without_backbone_weights(config: Config) -> Config:
    """Do not load what is overwritten at once, and may be on another machine."""
    backbone = config.model.backbone
    if backbone is None:
        return config
    kept = {k: v for k, v in backbone.as_call().items() if k not in ("weights", "pretrained")}
    model = config.model.model_copy(update={"backbone": type(backbone).model_validate(kept)})
    return config.model_copy(update={"model": model})
