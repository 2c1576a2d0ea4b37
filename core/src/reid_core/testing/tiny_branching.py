"""Backbones that can be taken apart, small enough for the tests of models with branches."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from reid_core.contracts import Batch, HeadOutput
from reid_core.errors import ConfigError
from reid_core.models import WeightedLoss


class TinyBranchingBackbone(nn.Module):
    """Two convolutions: images to maps (B, 16, h, w); the second one belongs to the branches.

    Attributes:
        feature_dim: 16.
        num_prefix_tokens: None, as it gives a map.
    """

    feature_dim = 16
    num_prefix_tokens = None

    def __init__(self) -> None:
        super().__init__()
        self.stem = _convolution(3, 8, stride=4)
        self.last = _convolution(8, self.feature_dim, stride=2)

    def forward(self, images: Tensor) -> Tensor:
        """Return (B, 16, H / 8, W / 8)."""
        features: Tensor = self.last(self.stem(images))
        return features

    def split(
        self, *, last_strides: Sequence[Literal[1, 2] | None]
    ) -> tuple[nn.Module, list[nn.Module]]:
        """Return the first convolution, and a copy of the second one for each stride."""
        branches: list[nn.Module] = []
        for stride in last_strides:
            branch = copy.deepcopy(self.last)
            convolution = branch[0]
            assert isinstance(convolution, nn.Conv2d)
            convolution.stride = (stride or 2, stride or 2)
            branches.append(branch)
        return self.stem, branches


class TinyBranchingTransformer(nn.Module):
    """Patches of 8×8 pixels through two blocks: images to tokens (B, 1 + N, 16).

    Args:
        num_cameras: Cameras whose embedding is added to the patches; None adds none.

    Attributes:
        feature_dim: 16.
        num_prefix_tokens: 1, the class token.
        conditions: What ``forward`` takes besides images.
    """

    feature_dim = 16
    num_prefix_tokens = 1

    def __init__(self, *, num_cameras: int | None = None) -> None:
        super().__init__()
        self.conditions = () if num_cameras is None else ("camids",)
        self.trunk = _Patches(self.feature_dim, num_cameras)
        self.last = nn.Sequential(_Block(self.feature_dim), nn.LayerNorm(self.feature_dim))

    def forward(self, images: Tensor, camids: Tensor | None = None) -> Tensor:
        """Return (B, 1 + H · W / 64, 16)."""
        tokens: Tensor = self.last(self.trunk(images, camids))
        return tokens

    def split(
        self, *, last_strides: Sequence[Literal[1, 2] | None]
    ) -> tuple[nn.Module, list[nn.Module]]:
        """Return the first block, and a copy of the second one for each entry, all None."""
        if any(stride is not None for stride in last_strides):
            raise ConfigError(f"tiny transformer: last_strides: got {list(last_strides)}, not None")
        return self.trunk, [copy.deepcopy(self.last) for _ in last_strides]


class TinyBranchLoss(nn.Module):
    """Cross entropy of the logits and variance of the features, each the mean over the branches."""

    def forward(self, output: HeadOutput, batch: Batch) -> Tensor:
        """Return () float32."""
        entropies = [F.cross_entropy(logits, batch.pids) for logits in output.logits.values()]
        variances = [features.var(dim=0).mean() for features in output.features.values()]
        return torch.stack(entropies).mean() + torch.stack(variances).mean()


def tiny_branching_parts(backbone: nn.Module, num_classes: int | None) -> dict[str, object]:
    """Return a backbone and losses, as a model that builds its heads by itself is given them.

    Args:
        backbone: The backbone.
        num_classes: Training identities; None gives no losses.
    """
    losses = [] if num_classes is None else [WeightedLoss("tiny", TinyBranchLoss())]
    return {"backbone": backbone, "losses": losses}


class _Patches(nn.Module):
    def __init__(self, width: int, num_cameras: int | None) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 8, stride=8)
        self.class_token = nn.Parameter(torch.randn(1, 1, width) * 0.02)
        self.cameras = None if num_cameras is None else nn.Embedding(num_cameras, width)
        self.block = _Block(width)

    def forward(self, images: Tensor, camids: Tensor | None = None) -> Tensor:
        patches = self.patches(images).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.class_token.expand(len(images), -1, -1), patches], dim=1)
        if self.cameras is not None:
            tokens = tokens + self.cameras(camids)[:, None]
        mixed: Tensor = self.block(tokens)
        return mixed


class _Block(nn.Module):
    """One head of attention, added to its input."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, tokens: Tensor) -> Tensor:
        query, key, value = self.qkv(self.norm(tokens)).chunk(3, dim=-1)
        return tokens + F.scaled_dot_product_attention(query, key, value)


def _convolution(before: int, after: int, *, stride: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(before, after, 5, stride, padding=2, bias=False),
        nn.BatchNorm2d(after),
        nn.ReLU(),
    )
