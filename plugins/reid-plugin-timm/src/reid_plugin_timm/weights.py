"""A local weights file into a timm network."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

import timm
from torch import Tensor, nn

from reid_core.checkpoint.weights import LoadReport, load_into, read_backbone_state
from reid_core.errors import CheckpointError
from reid_plugin_timm.build import pretrained_config
from reid_plugin_timm.torchvision_keys import is_torchvision_mobilenet_v2, rename_mobilenet_v2

_log = logging.getLogger(__name__)

StateFilter = Callable[[dict[str, Tensor], nn.Module], dict[str, Tensor]]


def load_weights(network: nn.Module, path: str) -> LoadReport:
    """Load a file strictly, but for the classifier, and log the share of parameters it filled.

    timm's own conversion for the architecture is applied first: it resizes position tables to the
    network's grid and renames the keys of the original releases.

    Args:
        network: A timm model without classifier.
        path: Local file with timm's key names, or torchvision's for ResNets and MobileNetV2.

    Returns:
        What was loaded and what was left out.

    Raises:
        CheckpointError: No such file, unreadable, or a key other than the classifier's does not
            match.
    """
    state = read_backbone_state(Path(path))
    config = pretrained_config(network)
    architecture = str(config["architecture"])
    if architecture.startswith("mobilenetv2_") and is_torchvision_mobilenet_v2(state):
        state = rename_mobilenet_v2(state)
    convert = _find_filter(architecture)
    if convert is not None:
        state = _converted(convert, state, network, path)
    report = load_into(network, state, source=path, ignore=_classifier_patterns(config))
    _log.info("%s", report.summary())
    return report


def _converted(
    convert: StateFilter, state: dict[str, Tensor], network: nn.Module, path: str
) -> dict[str, Tensor]:
    try:
        return convert(state, network)
    except Exception as error:
        # timm's converters assume a file of their architecture and fail in any way on another.
        raise CheckpointError(
            f"{path} does not fit the model: timm's conversion for {type(network).__name__} failed "
            f"with {type(error).__name__}: {error}\n"
            "  choose the architecture the weights were made for"
        ) from error


def _find_filter(architecture: str) -> StateFilter | None:
    module = importlib.import_module(timm.model_entrypoint(architecture).__module__)
    return cast("StateFilter | None", getattr(module, "checkpoint_filter_fn", None))


def _classifier_patterns(config: Mapping[str, object]) -> tuple[str, ...]:
    names = config.get("classifier") or ()
    listed = (names,) if isinstance(names, str) else cast("tuple[str, ...]", names)
    return tuple(f"{name}.{last}" for name in listed for last in ("weight", "bias"))
