"""The neck: an optional reduction, then an optional batch normalisation."""

from __future__ import annotations

from torch import Tensor, nn

from reid_plugin_heads.necks.layers import bottleneck_layer, reduction_layer


class Neck(nn.Module):
    """Narrow the pooled feature if asked to, normalise it over the batch if asked to.

    ``before = W·pooled`` (``pooled`` itself without a reduction) and ``after = BN(before)``
    (``before`` itself without a normalisation).

    Args:
        feature_dim: Channels C of the pooled feature, at least 1.
        reduced_dim: Width D of the reduction, at least 1; None leaves it out, and D is C.
        has_bottleneck: Whether the batch normalisation is there; its bias stays 0.

    Attributes:
        embedding_dim: Width D of both sides.

    Source: Luo et al., "Bag of Tricks and A Strong Baseline for Deep Person Re-identification",
        section 3.5.
    """

    embedding_dim: int

    def __init__(self, *, feature_dim: int, reduced_dim: int | None, has_bottleneck: bool) -> None:
        super().__init__()
        self.embedding_dim = feature_dim if reduced_dim is None else reduced_dim
        self.reduction = None if reduced_dim is None else reduction_layer(feature_dim, reduced_dim)
        self.bottleneck = bottleneck_layer(self.embedding_dim) if has_bottleneck else None

    def forward(self, pooled: Tensor) -> tuple[Tensor, Tensor]:
        """Compute both sides of the normalisation.

        Args:
            pooled: (B, C) floating point.

        Returns:
            ``before`` and ``after``, each (B, D), float32 as the parameters are, under autocast
            too; the same tensor twice without a normalisation.
        """
        before = pooled
        if self.reduction is not None:
            dtype = self.reduction.weight.dtype
            before = self.reduction(before.to(dtype)).to(dtype)
        if self.bottleneck is None:
            return before, before
        # Parameters say what to compute in: float32 under autocast, half in a model cast to half.
        before = before.to(self.bottleneck.weight.dtype)
        return before, self.bottleneck(before)
