"""A backbone taken apart: one trunk, and branches that each go on by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from torch import Tensor, nn

from reid_core.contracts import BranchingBackbone
from reid_core.errors import ConfigError, PluginError
from reid_core.models import conditions_of
from reid_core.plugins.origin import origin_of

Stride = Literal[1, 2]


class SplitBackbone(nn.Module):
    """The trunk that all branches share, and the branches.

    Args:
        trunk: Called as the backbone was.
        branches: Each from what the trunk returns to a map or tokens.
        conditions: What the trunk takes besides the images.
    """

    def __init__(
        self, trunk: nn.Module, branches: Sequence[nn.Module], conditions: tuple[str, ...] = ()
    ) -> None:
        super().__init__()
        self.trunk = trunk
        self.branches = nn.ModuleList(branches)
        self.conditions = conditions

    def forward(self, images: Tensor, **conditions: Tensor) -> list[Tensor]:
        """Run the trunk once, and each branch on what it gives.

        Args:
            images: (B, 3, H, W) float32.
            **conditions: Codes (B,) int64 by the names in ``conditions``.

        Returns:
            The features of the branches in their order, each as the backbone would return them.

        Raises:
            PluginError: The trunk or a branch gave no tensor.
        """
        shared = _tensor(self.trunk(images, **conditions), self.trunk)
        return self.branch_features(shared)

    def branch_features(self, shared: Tensor) -> list[Tensor]:
        """Return what each branch makes of what the trunk gives."""
        return [_tensor(branch(shared), branch) for branch in self.branches]


def split_backbone(
    model: str, backbone: nn.Module, last_strides: Sequence[Stride | None]
) -> SplitBackbone:
    """Take a backbone apart.

    Args:
        model: Name of the model, for messages.
        backbone: A :class:`reid_core.contracts.BranchingBackbone`.
        last_strides: For each branch the stride of its last stage; None is the backbone's own.

    Raises:
        ConfigError: The backbone cannot be taken apart, or not with these strides.
    """
    if not isinstance(backbone, BranchingBackbone):
        raise ConfigError(
            f"model {model} needs a backbone whose last layers it can copy, and "
            f"{type(backbone).__name__} ({origin_of(backbone)}) has no method split; use osnet_* "
            "with embedding: map, or timm with a ResNet or a plain vision transformer"
        )
    try:
        trunk, branches = backbone.split(last_strides=list(last_strides))
    except ConfigError as error:
        if all(stride is None for stride in last_strides):
            raise
        raise ConfigError(
            f"model {model}: {error}\n  these strides are model.global_stride and "
            "model.part_stride; null keeps what the backbone has"
        ) from error
    if len(branches) != len(last_strides):
        raise PluginError(
            f"backbone {type(backbone).__name__} ({origin_of(backbone)}): split(last_strides="
            f"{list(last_strides)}) gave {len(branches)} branches; expected one for each entry"
        )
    return SplitBackbone(trunk, branches, conditions_of(backbone))


def require_map(model: str, backbone: nn.Module) -> int:
    """Return the channels of a backbone that gives maps.

    Raises:
        ConfigError: It gives tokens.
    """
    if getattr(backbone, "num_prefix_tokens", None) is not None:
        raise ConfigError(
            f"model {model} cuts feature maps, and {type(backbone).__name__} "
            f"({origin_of(backbone)}) gives tokens; use a convolutional backbone, such as "
            "osnet_x1_0 with embedding: map or timm with resnet50, or model transreid"
        )
    return _feature_dim(backbone)


def require_tokens(model: str, backbone: nn.Module) -> tuple[int, int]:
    """Return the width and the number of prefix tokens of a backbone with a class token.

    Raises:
        ConfigError: It gives a map, or tokens without a prefix token.
    """
    prefix = getattr(backbone, "num_prefix_tokens", None)
    if not isinstance(prefix, int) or prefix < 1:
        got = "a map" if prefix is None else "tokens without a class token"
        raise ConfigError(
            f"model {model} needs a transformer with a class token, and {type(backbone).__name__} "
            f"({origin_of(backbone)}) gives {got}; use timm with a plain vision transformer, such "
            "as vit_base_patch16_224"
        )
    return _feature_dim(backbone), prefix


def _tensor(value: object, part: nn.Module) -> Tensor:
    if isinstance(value, Tensor):
        return value
    raise PluginError(
        f"a part of the backbone, {type(part).__name__} ({origin_of(part)}), gave a "
        f"{type(value).__name__}; expected a tensor: split must give modules from tensor to tensor"
    )


def _feature_dim(backbone: nn.Module) -> int:
    feature_dim = getattr(backbone, "feature_dim", None)
    if isinstance(feature_dim, int) and feature_dim > 0:
        return feature_dim
    raise PluginError(
        f"backbone {type(backbone).__name__} ({origin_of(backbone)}) has feature_dim "
        f"{feature_dim!r}; expected a positive integer, the number of channels of its features"
    )
