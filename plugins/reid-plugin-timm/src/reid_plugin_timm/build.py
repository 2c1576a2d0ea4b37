"""A timm network without classifier, for one image size."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Protocol, cast

import timm
from timm.layers.patch_embed import PatchEmbed
from torch import nn

from reid_core.errors import CheckpointError, ConfigError
from reid_plugin_timm.names import check_name, has_source
from reid_plugin_timm.patch_stride import (
    patch_size_of,
    set_patch_stride,
    size_without_overlap,
    sourced_patch_size,
)

_log = logging.getLogger(__name__)


class _Resizable(Protocol):
    def set_input_size(self, *, img_size: tuple[int, int]) -> None: ...


def build_network(
    name: str,
    image_size: tuple[int, int],
    *,
    pretrained: bool,
    drop_path_rate: float | None,
    patch_stride: int | None = None,
) -> nn.Module:
    """Create a timm model for images of ``image_size``.

    Networks that are built for one size (ViT, Swin and their relatives) get it on construction;
    timm then resizes the position tables of its pretrained weights on both axes and keeps the
    class token. Other networks take any size.

    Args:
        name: A timm model name, also with a ``hf-hub:`` or ``local-dir:`` prefix.
        image_size: Height and width in pixels.
        pretrained: Load timm's published weights, from the hub's cache or over the network.
        drop_path_rate: Stochastic depth, 0..1; None keeps the model's own default.
        patch_stride: Pixels between neighbouring patches; None is the size of a patch.

    Returns:
        The network with ``num_classes=0``, in training mode.

    Raises:
        ConfigError: Unknown name, or the model cannot be built with these parameters.
        CheckpointError: The published weights could not be fetched.
    """
    check_name(name, pretrained=pretrained)
    size = image_size
    if patch_stride is not None and not has_source(name):
        size = size_without_overlap(image_size, patch_size_of(name), patch_stride)
    try:
        network: nn.Module = timm.create_model(
            name,
            pretrained=pretrained,
            num_classes=0,
            # Not every model takes these two; timm leaves out what is None.
            drop_path_rate=drop_path_rate,
            img_size=size if _takes_size(name) else None,
        )
        if has_source(name) and pretrained_config(network).get("fixed_input_size"):
            if patch_stride is not None:
                patch_size = sourced_patch_size(network, name=name)
                size = size_without_overlap(image_size, patch_size, patch_stride)
            cast("_Resizable", network).set_input_size(img_size=size)
    except (OSError, TypeError, ValueError, AttributeError, AssertionError, RuntimeError) as error:
        # Fetching fails with an OSError, or a RuntimeError where the hub client is unusable.
        if isinstance(error, OSError) or (pretrained and isinstance(error, RuntimeError)):
            raise CheckpointError(
                f"timm could not fetch {name!r}: {_reason(error)}\n"
                "  it needs the network or a filled cache (HF_HOME); without either, download the "
                "weights elsewhere and give `weights: <local file>` instead of `pretrained: true`"
            ) from error
        height, width = image_size
        raise ConfigError(
            f"timm cannot build {name!r} for {height}×{width} images"
            f"{_given(pretrained, drop_path_rate)}: {_reason(error)}"
        ) from error
    if patch_stride is None:
        _warn_of_unseen_pixels(network, image_size, name)
    else:
        set_patch_stride(network, patch_stride, image_size, name=name)
    return network


def pretrained_config(network: nn.Module) -> Mapping[str, object]:
    """Return what timm knows of a network's published weights: input size, classifier and so on."""
    return cast("Mapping[str, object]", network.pretrained_cfg)


def _takes_size(name: str) -> bool:
    if has_source(name):
        return False
    config = timm.get_pretrained_cfg(name)
    return config is not None and bool(config.fixed_input_size)


def _warn_of_unseen_pixels(network: nn.Module, image_size: tuple[int, int], name: str) -> None:
    embed = getattr(network, "patch_embed", None)
    # Other embeddings, with padding, see every pixel.
    patch = embed.patch_size if isinstance(embed, PatchEmbed) else None
    if isinstance(patch, tuple) and any(
        side % step for side, step in zip(image_size, patch, strict=True)
    ):
        seen = tuple(side - side % step for side, step in zip(image_size, patch, strict=True))
        _log.warning(
            "%s: its %d×%d patches cover only %d×%d of the %d×%d pixels; choose an image_size "
            "that they divide",
            name,
            *patch,
            *seen,
            *image_size,
        )


def _given(pretrained: bool, drop_path_rate: float | None) -> str:
    parts = ["pretrained: true"] if pretrained else []
    parts += [] if drop_path_rate is None else [f"drop_path_rate: {drop_path_rate}"]
    return f" with {', '.join(parts)}" if parts else ""


def _reason(error: Exception) -> str:
    return str(error).strip() or type(error).__name__
