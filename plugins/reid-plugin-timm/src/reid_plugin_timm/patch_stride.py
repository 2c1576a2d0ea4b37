"""Overlapping patches: a patch embedding whose stride is smaller than its patches."""

from __future__ import annotations

from typing import Protocol, cast

import timm
import torch
from timm.layers.patch_embed import PatchEmbed
from torch import nn

from reid_core.errors import ConfigError


class _PatchEmbed(Protocol):
    patch_size: tuple[int, int]
    img_size: tuple[int, int]
    proj: nn.Conv2d


def patch_size_of(name: str) -> tuple[int, int]:
    """Return the patch height and width of a timm model, without building its weights.

    Args:
        name: A timm model name, without a source prefix.

    Raises:
        ConfigError: The model does not turn each patch into one token.
    """
    # No memory is taken on this device, and no random number drawn.
    with torch.device("meta"):
        network = timm.create_model(name, num_classes=0)
    return _patches(network, name).patch_size


def size_without_overlap(
    image_size: tuple[int, int], patch_size: tuple[int, int], stride: int
) -> tuple[int, int]:
    """Return the image size at which patches side by side make as many tokens.

    A side of S pixels holds (S − patch) // stride + 1 overlapping patches. A network built for so
    many patches has position tables of the right grid, whatever kind they are, and weights that
    are loaded into it are resized only once.

    Args:
        image_size: Height and width in pixels.
        patch_size: Height and width of a patch in pixels.
        stride: Distance of neighbouring patches in pixels, 1..patch size.

    Raises:
        ConfigError: The stride would leave pixels out, or the image is smaller than a patch.

    Source: He et al., "TransReID: Transformer-based Object Re-Identification", ICCV 2021,
    equation 2.
    """
    if not 1 <= stride <= min(patch_size):
        raise ConfigError(
            f"patch_stride: got {stride}, expected 1..{min(patch_size)}, the size of a patch; at "
            f"{min(patch_size)} patches do not overlap"
        )
    if image_size[0] < patch_size[0] or image_size[1] < patch_size[1]:
        raise ConfigError(
            f"image_size: {image_size[0]}×{image_size[1]} is smaller than one patch of "
            f"{patch_size[0]}×{patch_size[1]}"
        )
    rows, columns = (
        (side - patch) // stride + 1 for side, patch in zip(image_size, patch_size, strict=True)
    )
    return rows * patch_size[0], columns * patch_size[1]


def set_patch_stride(
    network: nn.Module, stride: int, image_size: tuple[int, int], *, name: str
) -> None:
    """Let the patches overlap, in a network built for :func:`size_without_overlap`.

    Args:
        network: A timm model of tokens.
        stride: Distance of neighbouring patches in pixels.
        image_size: Height and width in pixels of the images to come.
        name: The model's name, for the message.

    Raises:
        ConfigError: The model does not turn each patch into one token.
    """
    embed = _patches(network, name)
    embed.proj.stride = (stride, stride)
    # Its grid_size stays: that is the grid of the overlapping patches.
    embed.img_size = image_size


def sourced_patch_size(network: nn.Module, *, name: str) -> tuple[int, int]:
    """Return the patch height and width of a network that is built already.

    Raises:
        ConfigError: The model does not turn each patch into one token.
    """
    return _patches(network, name).patch_size


def _patches(network: nn.Module, name: str) -> _PatchEmbed:
    embed = getattr(network, "patch_embed", None)
    is_token_model = isinstance(getattr(network, "num_prefix_tokens", None), int)
    if is_token_model and isinstance(embed, PatchEmbed):
        return cast("_PatchEmbed", embed)
    raise ConfigError(
        f"patch_stride: {name!r} ({type(network).__name__}) does not turn each patch into one "
        "token; this needs a model such as vit_base_patch16_224. Remove patch_stride"
    )
