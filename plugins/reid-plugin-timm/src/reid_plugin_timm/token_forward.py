"""The forward pass of a vision transformer, with something added to its first tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, cast

from timm.models import checkpoint, checkpoint_seq
from timm.models.eva import Eva
from timm.models.vision_transformer import VisionTransformer
from torch import Tensor, nn

from reid_core.errors import ConfigError

Change = Callable[[Tensor], Tensor]


def is_plain_transformer(network: nn.Module) -> bool:
    """Tell whether a network is a VisionTransformer whose blocks take nothing but tokens."""
    return (
        isinstance(network, VisionTransformer)
        and type(network).forward_features is VisionTransformer.forward_features
    )


def check_token_forward(network: nn.Module, tokens: Literal["all", "class"], *, name: str) -> None:
    """Refuse a network that :func:`token_forward` cannot run.

    Args:
        network: A timm model.
        tokens: Which tokens shall be changed.
        name: The model's name, for the message.

    Raises:
        ConfigError: It is neither of the VisionTransformer nor of the Eva family, or has no class
            token and that is wanted.
    """
    if not (is_plain_transformer(network) or _is_eva(network)):
        raise ConfigError(
            f"sie: {name!r} ({type(network).__name__}) has no tokens that camera or view can be "
            "added to; this works for the families of ViT, DeiT, CLIP, DINOv2 (VisionTransformer) "
            "and EVA02, DINOv3 (Eva). Remove sie"
        )
    if tokens == "class" and getattr(network, "cls_token", None) is None:
        raise ConfigError(
            f"sie_tokens: class, but {name!r} has no class token; set `sie_tokens: all`"
        )


def token_dim(network: nn.Module) -> int:
    """Return the channels of the tokens of a network that passed the check."""
    return int(cast("VisionTransformer | Eva", network).embed_dim)


def token_forward(network: nn.Module, images: Tensor, change: Change) -> Tensor:
    """Return what ``forward_features`` returns, had the tokens been changed before the blocks.

    Args:
        network: A timm model that passed :func:`check_token_forward`.
        images: (B, 3, H, W) float32.
        change: Called with the tokens (B, N, C) right after positions were added to them.

    Returns:
        (B, N, C).
    """
    if _is_eva(network):
        return _eva_forward(cast("Eva", network), images, change)
    transformer = cast("VisionTransformer", network)
    tokens = change(transformer._pos_embed(transformer.patch_embed(images)))
    tokens = transformer.norm_pre(transformer.patch_drop(tokens))
    if transformer.grad_checkpointing:
        tokens = checkpoint_seq(transformer.blocks, tokens)
    else:
        tokens = transformer.blocks(tokens)
    return cast("Tensor", transformer.norm(tokens))


def _is_eva(network: nn.Module) -> bool:
    return isinstance(network, Eva) and type(network).forward_features is Eva.forward_features


def _eva_forward(network: Eva, images: Tensor, change: Change) -> Tensor:
    tokens, rotations = network._pos_embed(network.patch_embed(images))
    tokens = network.norm_pre(change(tokens))
    is_by_block = bool(getattr(network, "rope_mixed", False))
    for index, block in enumerate(network.blocks):
        rotation = rotations[index] if is_by_block and rotations is not None else rotations
        if network.grad_checkpointing:
            tokens = checkpoint(block, tokens, rope=rotation)
        else:
            tokens = block(tokens, rope=rotation)
    return cast("Tensor", network.norm(tokens))
