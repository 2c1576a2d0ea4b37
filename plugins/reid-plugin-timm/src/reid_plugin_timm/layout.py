"""What a timm network returns, found by running it once."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Protocol, cast

import torch
from timm.layers.norm import RmsNorm
from torch import Tensor, nn

from reid_core.errors import ConfigError

_log = logging.getLogger(__name__)


class _HasFeatures(Protocol):
    def forward_features(self, x: Tensor) -> Tensor: ...


@dataclass(frozen=True)
class FeatureLayout:
    """How to read what a network's ``forward_features`` returns.

    Args:
        feature_dim: Number of channels.
        num_prefix_tokens: Class and register tokens before the patches; None means a map.
        channels_last: The map comes as (B, h, w, C).
        norm: Name of the final normalisation that timm keeps in the classifier head, or None.
    """

    feature_dim: int
    num_prefix_tokens: int | None
    channels_last: bool
    norm: str | None

    def finish(self, network: nn.Module, features: Tensor) -> Tensor:
        """Turn what ``forward_features`` returned into a map (B, C, h, w) or tokens (B, N, C)."""
        if self.norm is not None:
            features = network.get_submodule(self.norm)(features)
        return features.permute(0, 3, 1, 2) if self.channels_last else features


def find_layout(network: nn.Module, image_size: tuple[int, int], *, name: str) -> FeatureLayout:
    """Run one black image through the network and read off the layout.

    Parameters that the features do not depend on, such as those of the classifier head, are
    frozen: distributed training waits for a gradient of every other one.

    Args:
        network: A timm model.
        image_size: Height and width in pixels.
        name: The model's name, for messages.

    Raises:
        ConfigError: The network cannot take this size, or returns neither a map nor tokens.
    """
    was_training = network.training
    network.eval()
    try:
        with torch.enable_grad():
            features = _run_once(network, image_size, name)
            layout = _read_layout(network, features, image_size, name)
            output = layout.finish(network, features)
    finally:
        network.train(was_training)
    _freeze_unreached(network, output, name)
    return layout


def last_features(network: nn.Module, images: Tensor) -> Tensor:
    """Return what the network's ``forward_features`` makes of ``images`` (B, 3, H, W)."""
    return cast("_HasFeatures", network).forward_features(images)


def _run_once(network: nn.Module, image_size: tuple[int, int], name: str) -> Tensor:
    height, width = image_size
    try:
        output = last_features(network, torch.zeros(1, 3, height, width))
    except (RuntimeError, AssertionError, ValueError, TypeError) as error:
        raise ConfigError(
            f"timm model {name!r} cannot take {height}×{width} images: "
            f"{str(error).strip() or type(error).__name__}"
        ) from error
    if isinstance(output, Tensor) and output.ndim in (3, 4):
        return output
    got = tuple(output.shape) if isinstance(output, Tensor) else type(output).__name__
    raise ConfigError(
        f"timm model {name!r} returns {got}; a backbone returns a map (B, C, h, w) or tokens "
        "(B, N, C): choose another model"
    )


def _read_layout(
    network: nn.Module, features: Tensor, image_size: tuple[int, int], name: str
) -> FeatureLayout:
    is_tokens = features.ndim == 3
    channels_last = not is_tokens and getattr(network, "output_fmt", "NCHW") == "NHWC"
    feature_dim = features.shape[-1] if is_tokens or channels_last else features.shape[1]
    prefix = (
        _count_prefix_tokens(network, features.shape[1], image_size, name) if is_tokens else None
    )
    return FeatureLayout(
        feature_dim=feature_dim,
        num_prefix_tokens=prefix,
        channels_last=channels_last,
        norm=_find_final_norm(network, feature_dim),
    )


def _count_prefix_tokens(
    network: nn.Module, num_tokens: int, image_size: tuple[int, int], name: str
) -> int:
    declared = getattr(network, "num_prefix_tokens", None)
    if isinstance(declared, int):
        return declared
    prefix = 0 if getattr(network, "cls_token", None) is None else 1
    patches, pixels = num_tokens - prefix, image_size[0] * image_size[1]
    # Some models return the class token alone, or several grids in one row of tokens: what is
    # left must be the image cut into equal squares.
    if patches < 1 or pixels % patches or (pixels // patches) ** 0.5 % 1:
        raise ConfigError(
            f"timm model {name!r} returns {num_tokens} tokens and does not say which of them are "
            "patches: choose another model"
        )
    return prefix


def _find_final_norm(network: nn.Module, feature_dim: int) -> str | None:
    for norm_name in ("fc_norm", "head.norm"):
        try:
            norm = network.get_submodule(norm_name)
        except AttributeError:
            continue
        # Only over the channels of the features themselves: some heads widen them first.
        if isinstance(norm, nn.LayerNorm | RmsNorm) and norm.normalized_shape == (feature_dim,):
            return norm_name
    return None


def _freeze_unreached(network: nn.Module, output: Tensor, name: str) -> None:
    reached = _leaves(output)
    unused = [
        (key, parameter)
        for key, parameter in network.named_parameters()
        if parameter.requires_grad and id(parameter) not in reached
    ]
    for _, parameter in unused:
        parameter.requires_grad_(False)
    if unused:
        _log.info(
            "%s: froze %d parameters that its features do not use (%s, …)",
            name,
            len(unused),
            unused[0][0],
        )


def _leaves(output: Tensor) -> set[int]:
    """Return the ids of the tensors that a gradient of ``output`` would reach."""
    leaves: set[int] = set()
    seen: set[object] = set()
    pending = [output.grad_fn]
    while pending:
        node = pending.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        variable = getattr(node, "variable", None)
        if variable is not None:
            leaves.add(id(variable))
        pending.extend(next_node for next_node, _ in node.next_functions)
    return leaves
