"""A model for embedding, from a weights file."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import torch

from reid_core.checkpoint.random_state import seed_everything
from reid_core.checkpoint.weights import load_into, read_state_dict
from reid_core.config import Config
from reid_core.config.load import config_from_plain
from reid_core.contracts import ReidModel
from reid_core.engine.check import check_config
from reid_core.engine.device import pick_device
from reid_core.engine.evaluation.config import evaluation_config
from reid_core.engine.record.weights_info import WeightsInfo
from reid_core.engine.resuming.changes import differences
from reid_core.errors import CheckpointError
from reid_core.models.build import TRAINING_ONLY_KEYS, build_model
from reid_core.plugins.index import disabled_plugins

log = logging.getLogger("reid_core")

#: Settings that an embedding depends on; another value gives another result from the same weights.
_EMBEDDING_SETTINGS = (
    "model.",
    "data.image_size",
    "data.interpolation",
    "data.resize",
    "data.mean",
    "data.std",
)
_NO_EMBEDDING_SETTINGS = ("model.losses", "model.backbone.weights", "model.backbone.pretrained")


def config_of_weights(path: Path, overrides: Sequence[str] = ()) -> Config:
    """Return the config that weights were trained with, which is stored in the file.

    Raises:
        CheckpointError: The file holds none; name one.
    """
    info = WeightsInfo.of(path)
    if info.config is None:
        raise CheckpointError(
            f"{path} does not say how its model is built; name a recipe by --config, for example "
            "--config osnet/osnet_x0_25"
        )
    return config_from_plain(info.config, overrides, source=str(path))


def load_model(config: Config, weights: Path | None) -> ReidModel:
    """Build the model for embedding and load weights into it.

    It has no classifier, so it does not matter for how many identities it was trained.

    Args:
        config: Which model.
        weights: A checkpoint or weights file, of a run or of the backbone alone; None keeps what
            the backbone loaded by itself.

    Raises:
        CheckpointError: A key that is no classifier is missing, unexpected, or of another shape.
    """
    config = evaluation_config(config)
    with disabled_plugins(config.plugins.disable):
        return _load_model(config, weights)


def _load_model(config: Config, weights: Path | None) -> ReidModel:
    check_config(config)
    seed_everything(config.seed)
    if weights is None:
        _warn_of_initial_weights(config)
        return _ready(build_model(config, num_classes=None), config)
    state = read_state_dict(weights)
    info = WeightsInfo.of(weights)
    if info.config is None:
        _log_image_size(config)
    if not any(key.startswith("backbone.") for key in state):
        log.info("%s holds a backbone alone: the head has its initial values", weights)
        with_weights = _with_backbone(config, weights=str(weights))
        check_config(with_weights)
        return _ready(build_model(with_weights, num_classes=None), config)
    _warn_of_other_settings(config, info)
    model = build_model(
        _with_backbone(config),
        num_classes=None,
        num_cameras=None if info.cameras is None else info.cameras.num_cameras,
        num_views=info.num_views,
    )
    report = load_into(model, state, source=str(weights), ignore=TRAINING_ONLY_KEYS)
    log.info("%s", report.summary())
    if report.ignored:
        log.info("what only training needs (classifier, losses) is not used for embedding")
    return _ready(model, config)


def _ready(model: ReidModel, config: Config) -> ReidModel:
    # The layout of training: another one gives sums that are rounded otherwise.
    is_last = config.train.channels_last
    layout = torch.channels_last if is_last else torch.contiguous_format
    return model.to(pick_device(config.device)).to(memory_format=layout).eval()


def _with_backbone(config: Config, **changes: object) -> Config:
    """Replace the files that the backbone loads by itself: they may be on another machine."""
    backbone = config.model.backbone
    if backbone is None:
        return config
    kept = {k: v for k, v in backbone.as_call().items() if k not in ("weights", "pretrained")}
    changed = type(backbone).model_validate({**kept, **changes})
    model = config.model.model_copy(update={"backbone": changed})
    return config.model_copy(update={"model": model})


def _log_image_size(config: Config) -> None:
    height, width = config.data.image_size
    log.info(
        "images are resized to %dx%d (data.image_size); weights of other toolboxes are often for "
        "another size",
        height,
        width,
    )


def _warn_of_initial_weights(config: Config) -> None:
    parameters = config.model.backbone.parameters if config.model.backbone else {}
    if parameters.get("weights"):
        _log_image_size(config)
    if not parameters.get("weights") and not parameters.get("pretrained"):
        log.warning(
            "no weights are given: an untrained model is evaluated; name some by --resume PATH or "
            "--set model.backbone.weights=FILE"
        )


def _warn_of_other_settings(config: Config, info: WeightsInfo) -> None:
    if info.config is None:
        return
    for path, now, then in differences(info.config, config):
        is_used = path.startswith(_EMBEDDING_SETTINGS)
        if is_used and not path.startswith(_NO_EMBEDDING_SETTINGS):
            log.warning(
                "evaluation: %s is %s, the weights were trained with %s",
                path,
                _told(now),
                _told(then),
            )


def _told(value: object) -> str:
    # None is a setting that was left out.
    return "its default" if value is None else repr(value)
