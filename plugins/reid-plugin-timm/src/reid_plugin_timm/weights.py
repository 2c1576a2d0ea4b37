"""A local weights file into a timm network."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import cast

import timm
from torch import Tensor, nn

from reid_core.checkpoint.weights import LoadReport, load_into, read_backbone_state
from reid_core.errors import CheckpointError
from reid_plugin_timm.build import pretrained_config
from reid_plugin_timm.position_table import Grid, fit_position_table
from reid_plugin_timm.released_keys import backbone_part, fresh_patterns, rename_released
from reid_plugin_timm.torchvision_keys import is_torchvision_mobilenet_v2, rename_mobilenet_v2

_log = logging.getLogger(__name__)

StateFilter = Callable[[dict[str, Tensor], nn.Module], dict[str, Tensor]]

#: Keys of a camera or view table: of this project's backbones, and of TransReID's.
_TABLE_KEYS = ("side_information.table", "sie_embed")


@dataclass(frozen=True)
class LoadedWeights:
    """What a weights file gave.

    Args:
        report: What the network loaded and what was left out.
        table: The file's camera or view table (codes, 1, C), which the network has no place for;
            None where it has none.
    """

    report: LoadReport
    table: Tensor | None


def load_weights(
    network: nn.Module, path: str, *, weights_grid: Grid | None = None
) -> LoadedWeights:
    """Load a file strictly, but for the classifier, and log the share of parameters it filled.

    timm's own conversion for the architecture is applied first: it renames the keys of the
    original releases. Position tables are resized to the network's grid.

    Args:
        network: A timm model without classifier, with its IBN and non-local blocks.
        path: Local file with timm's key names, or torchvision's for ResNets and MobileNetV2, or
            those of IBN-Net and FastReID for ResNets; the backbone alone or in a whole model.
        weights_grid: Rows and columns of the patches the file was trained with; None finds out.

    Returns:
        What was loaded and what was left out, and what is for others to load.

    Raises:
        ConfigError: ``weights_grid`` has no table to apply to.
        CheckpointError: No such file, unreadable, or a key other than the classifier's does not
            match.
    """
    state = backbone_part(read_backbone_state(Path(path)), network)
    table = next((state.pop(key) for key in _TABLE_KEYS if key in state), None)
    # Next to a table, the prefix of the network is not that of every key.
    state = {key.removeprefix("model."): value for key, value in state.items()}
    config = pretrained_config(network)
    architecture = str(config["architecture"])
    if architecture.startswith("mobilenetv2_") and is_torchvision_mobilenet_v2(state):
        state = rename_mobilenet_v2(state)
    state = rename_released(state, network, source=path)
    state = _converted(_find_filter(architecture), state, network, path, weights_grid)
    fresh = fresh_patterns(state, network)
    report = load_into(
        network, state, source=path, ignore=_classifier_patterns(config), allow_missing=fresh
    )
    _log.info("%s", report.summary())
    _log_fresh(network, state, fresh, path)
    return LoadedWeights(report, table)


def _converted(
    convert: StateFilter | None,
    state: dict[str, Tensor],
    network: nn.Module,
    path: str,
    weights_grid: Grid | None,
) -> dict[str, Tensor]:
    positions = fit_position_table(state, network, weights_grid=weights_grid, source=path)
    if positions is not None:
        # timm's conversion would take the grid for a square, or for that of its own weights.
        state = {key: value for key, value in state.items() if key != "pos_embed"}
    if convert is not None:
        state = _run_filter(convert, state, network, path)
    return state if positions is None else {**state, "pos_embed": positions}


def _run_filter(
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


def _log_fresh(
    network: nn.Module, state: Mapping[str, Tensor], patterns: Sequence[str], path: str
) -> None:
    kept = [
        key
        for key, _ in network.named_parameters()
        if key not in state and any(fnmatchcase(key, pattern) for pattern in patterns)
    ]
    if kept:
        _log.info(
            "%s lacks %d parameters that were put into the model, and that start anew (%s, …)",
            path,
            len(kept),
            kept[0],
        )


def _find_filter(architecture: str) -> StateFilter | None:
    module = importlib.import_module(timm.model_entrypoint(architecture).__module__)
    return cast("StateFilter | None", getattr(module, "checkpoint_filter_fn", None))


def _classifier_patterns(config: Mapping[str, object]) -> tuple[str, ...]:
    names = config.get("classifier") or ()
    listed = (names,) if isinstance(names, str) else cast("tuple[str, ...]", names)
    return tuple(f"{name}.{last}" for name in listed for last in ("weight", "bias"))
