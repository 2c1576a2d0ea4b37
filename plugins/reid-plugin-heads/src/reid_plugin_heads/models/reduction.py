"""The reduction of branches: a linear layer and a batch normalisation with a bias."""

from __future__ import annotations

from torch import Tensor, nn

from reid_plugin_heads.necks.layers import reduction_layer


class NormalisedReduction(nn.Module):
    """Narrow a feature, normalise it over the batch, and cut off what is below 0.

    ``relu(BN(W·pooled))``, where other than in a BNNeck the bias is learned; both sides are this
    one feature. On a pooled feature it is the 1×1 convolution with batch normalisation of the
    published networks.

    Args:
        feature_dim: Channels C of the pooled feature, at least 1.
        embedding_dim: Width D, at least 1.
        has_relu: False leaves negative values as they are.

    Attributes:
        embedding_dim: Width D.
    """

    embedding_dim: int

    def __init__(self, *, feature_dim: int, embedding_dim: int, has_relu: bool = True) -> None:
        super().__init__()
        self.embedding_dim = embedding_dim
        self.reduction = reduction_layer(feature_dim, embedding_dim)
        self.norm = nn.BatchNorm1d(embedding_dim)
        self.activation = nn.ReLU() if has_relu else nn.Identity()

    def forward(self, pooled: Tensor) -> tuple[Tensor, Tensor]:
        """Reduce a pooled feature.

        Args:
            pooled: (B, C) floating point.

        Returns:
            The same (B, D) twice, as necks return "before" and "after"; float32 as the parameters
            are, under autocast too.
        """
        dtype = self.reduction.weight.dtype
        reduced = self.reduction(pooled.to(dtype)).to(dtype)
        feature: Tensor = self.activation(self.norm(reduced))
        return feature, feature
