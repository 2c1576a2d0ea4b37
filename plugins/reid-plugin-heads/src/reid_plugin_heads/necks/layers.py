"""The layers of a neck, initialised as they are published."""

from __future__ import annotations

from torch import nn


def reduction_layer(feature_dim: int, embedding_dim: int) -> nn.Linear:
    """Build a linear layer without bias, the 1×1 convolution of a pooled feature.

    Args:
        feature_dim: Channels C it reads, at least 1.
        embedding_dim: Width D it gives, at least 1.

    Returns:
        A layer from (B, C) to (B, D), weights N(0, 2/D).

    Source: He et al., "Delving Deep into Rectifiers", eq. 14, for the weights.
    """
    layer = nn.Linear(feature_dim, embedding_dim, bias=False)
    nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    return layer


def bottleneck_layer(embedding_dim: int) -> nn.BatchNorm1d:
    """Build the batch normalisation of a neck: its bias is 0 and stays so.

    Args:
        embedding_dim: Width D, at least 1.

    Returns:
        A layer from (B, D) to (B, D).

    Source: Luo et al., "Bag of Tricks and A Strong Baseline for Deep Person Re-identification",
        section 3.5.
    """
    layer = nn.BatchNorm1d(embedding_dim)
    layer.bias.requires_grad_(False)
    return layer
