"""The other parts of a model, and data, where one component is built without a configuration."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from reid_core.contracts import Batch, HeadOutput
from reid_core.plugins.registries import BACKBONES, HEADS, LOSSES

#: The name of each stand-in in the registry of its kind.
NAME = "stand_in"
#: The same for a backbone that gives tokens.
TOKENS_NAME = "stand_in_tokens"

#: Training identities, and images of each.
NUM_CLASSES, IMAGES = 64, 8
FEATURE_DIM = 64


class Backbone(nn.Module):
    """Gives a map."""

    feature_dim = FEATURE_DIM
    num_prefix_tokens: int | None = None

    def forward(self, images: Tensor) -> Tensor:
        """Return (B, ``feature_dim``, 1, 1) float32."""
        return images.new_zeros(len(images), FEATURE_DIM, 1, 1)


class TokenBackbone(nn.Module):
    """Gives tokens."""

    feature_dim = FEATURE_DIM
    num_prefix_tokens = 1

    def forward(self, images: Tensor) -> Tensor:
        """Return (B, 2, ``feature_dim``) float32."""
        return images.new_zeros(len(images), 2, FEATURE_DIM)


class Head(nn.Module):
    """Averages."""

    def __init__(self, *, feature_dim: int) -> None:
        super().__init__()
        self.embedding_dim = feature_dim

    def forward(self, features: Tensor, pids: Tensor | None = None) -> HeadOutput:
        """Return the embedding of features of any shape."""
        pooled = features.flatten(1)
        return HeadOutput(embedding=pooled, features={"global": pooled})


class Loss(nn.Module):
    """Asks for short features."""

    def forward(self, output: HeadOutput, batch: Batch) -> Tensor:
        """Return a scalar, float32."""
        return output.features["global"].square().mean()


def register() -> None:
    """Make the stand-ins known in this process."""
    BACKBONES.register(Backbone, name=NAME)
    BACKBONES.register(TokenBackbone, name=TOKENS_NAME)
    HEADS.register(Head, name=NAME)
    LOSSES.register(Loss, name=NAME)


def labels() -> NDArray[np.int64]:
    """Return the labels (N,) of a training set."""
    return np.repeat(np.arange(NUM_CLASSES, dtype=np.int64), IMAGES)


def camids() -> NDArray[np.int64]:
    """Return the cameras (N,) of the same rows: each identity is seen by four."""
    return np.tile(np.arange(4, dtype=np.int64), NUM_CLASSES * IMAGES // 4)
