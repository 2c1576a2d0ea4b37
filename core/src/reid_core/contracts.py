"""The records that components hand to each other; a plugin author imports these.

Shape letters: B batch, C channels, H W image, h w feature map, D embedding, N tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, runtime_checkable

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Batch:
    """One batch, on its way from the loader through the model to the losses.

    Args:
        images: (B, 3, H, W), uint8 as decoded or float32 once normalised.
        pids: (B,) int64; in training the label 0..num_classes-1, in evaluation the row's code.
        camids: (B,) int64 code of the camera.
        index: (B,) int64 row in the data set.
        columns: Further columns by name, each (B, …).
    """

    images: Tensor
    pids: Tensor
    camids: Tensor
    index: Tensor
    columns: Mapping[str, Tensor] = field(default_factory=dict)

    def __len__(self) -> int:
        return int(self.images.shape[0])

    def to(self, device: torch.device) -> Batch:
        """Return the batch on ``device``."""
        return Batch(
            images=self.images.to(device, non_blocking=True),
            pids=self.pids.to(device, non_blocking=True),
            camids=self.camids.to(device, non_blocking=True),
            index=self.index.to(device, non_blocking=True),
            columns={k: v.to(device, non_blocking=True) for k, v in self.columns.items()},
        )

    def with_images(self, images: Tensor) -> Batch:
        """Return the same rows with other images (B, 3, H, W)."""
        return replace(self, images=images)


@dataclass(frozen=True)
class HeadOutput:
    """What a head makes of the backbone's features.

    Args:
        embedding: (B, D), the vector that retrieval compares at test time.
        features: Metric features by name, each (B, D'); a head with one branch calls it
            ``"global"``. Metric losses read these.
        logits: Class scores by the same names, each (B, num_classes), as the classification loss
            shall see them; empty when the head has no classifier.
        scores: Plain class scores for accuracy, where the logits carry a margin; None means the
            logits serve.
        attributes: (B, A) logits of attributes such as "carries a bag", from heads that tell them.
    """

    embedding: Tensor
    features: Mapping[str, Tensor]
    logits: Mapping[str, Tensor] = field(default_factory=dict)
    scores: Mapping[str, Tensor] | None = None
    attributes: Tensor | None = None


@dataclass(frozen=True)
class TrainOutput:
    """What a model returns in training mode.

    Args:
        losses: Weighted scalars by name; their sum is minimised.
        metrics: Detached scalars to log, for example accuracy.
    """

    losses: Mapping[str, Tensor]
    metrics: Mapping[str, Tensor] = field(default_factory=dict)


class ReidModel(nn.Module):
    """What every model derives from: it turns images into embeddings, and a batch into losses.

    Attributes:
        conditions: What :meth:`embed` wants besides the images, of ``camids`` and ``viewids``; the
            codes are those of training. Most models want nothing.
    """

    conditions: tuple[str, ...] = ()

    def embed(
        self, images: Tensor, camids: Tensor | None = None, viewids: Tensor | None = None
    ) -> Tensor:
        """Return embeddings.

        Args:
            images: (B, 3, H, W) float32, normalised.
            camids: (B,) int64 codes 0..num_cameras-1, where ``conditions`` name them.
            viewids: (B,) int64 codes 0..num_views-1, where ``conditions`` name them.

        Returns:
            (B, D) float32.
        """
        raise NotImplementedError

    def forward(self, batch: Batch) -> TrainOutput | Tensor:
        """Return losses in training mode, embeddings (B, D) in evaluation mode."""
        raise NotImplementedError


@runtime_checkable
class Backbone(Protocol):
    """Images to features.

    ``forward(images)`` takes (B, 3, H, W) float32 and returns a map (B, ``feature_dim``, h, w) or,
    when ``num_prefix_tokens`` is not None, tokens (B, N, ``feature_dim``) of which the first
    ``num_prefix_tokens`` are class or register tokens.

    A backbone may further have an attribute ``conditions``, out of ``camids`` and ``viewids``:
    ``forward`` then takes these as keyword arguments, (B,) int64 codes from 0. And it may have a
    method ``layer_groups()`` that returns the names of its parameters as lists by depth, from the
    images on, for a learning rate that decays with depth. With a method
    ``set_grad_checkpointing(enable=True)`` it serves ``train.gradient_checkpointing``: activations
    are then computed again in the backward pass instead of being kept.
    """

    feature_dim: int

    def __call__(self, images: Tensor) -> Tensor:
        """Return the features of (B, 3, H, W) float32."""
        ...


@runtime_checkable
class BranchingBackbone(Protocol):
    """A backbone that can be taken apart, for models whose branches share its first layers."""

    feature_dim: int

    def split(
        self, *, last_strides: Sequence[Literal[1, 2] | None]
    ) -> tuple[nn.Module, list[nn.Module]]:
        """Take the backbone apart.

        Args:
            last_strides: For each branch the stride of its last stage; None is what the backbone
                has.

        Returns:
            The trunk, called as the backbone is, and for each branch an independent copy of the
            rest, with the same weights: it turns what the trunk returns into what the backbone
            would.

        Raises:
            ConfigError: The backbone cannot be taken apart, or not with these strides.
        """
        ...


class Head(Protocol):
    """Features to a :class:`HeadOutput`; built with ``feature_dim``, ``num_classes`` and so on."""

    def __call__(self, features: Tensor, pids: Tensor | None = None) -> HeadOutput:
        """Return embedding, features and logits of a map or tokens."""
        ...


class Loss(Protocol):
    """A scalar from a :class:`HeadOutput` and its :class:`Batch`, computed in float32."""

    def __call__(self, output: HeadOutput, batch: Batch) -> Tensor:
        """Return a scalar, float32."""
        ...
