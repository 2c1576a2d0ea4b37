"""The part head of PCB: one feature and one classifier a horizontal stripe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reid_core.contracts import HeadOutput
from reid_core.errors import ConfigError
from reid_plugin_heads.checks import require_choice, require_positive, require_within
from reid_plugin_heads.layout import FeatureLayout
from reid_plugin_heads.necks.layers import reduction_layer
from reid_plugin_heads.pooling.base import accumulation_dtype
from reid_plugin_heads.stripes import stripes as cut

StripeFeature = Literal["pooled", "reduced"]
Reduction = Literal["shared", "separate"]

#: Standard deviation of the classifiers' weights at the start.
CLASSIFIER_STD = 0.01


class PCBHead(nn.Module):
    """Average horizontal stripes, reduce each, classify each.

    For stripe i, from the top: ``pooledᵢ`` is the mean of the stripe, ``reducedᵢ =
    ReLU(BN(W·dropout(pooledᵢ)))``, ``logitsᵢ = Vᵢ·reducedᵢ + bᵢ``. The embedding is the
    concatenation of ``fᵢ/‖fᵢ‖``, with ``pooledᵢ`` or ``reducedᵢ`` for fᵢ.

    Stripe i of P covers the rows floor(i·h/P) to ceil((i + 1)·h/P) − 1: where P does not divide the
    height h of the map, neighbours share a row.

    A loss sees branches ``part_0`` … ``part_5``. PCB sums the cross entropies of its stripes: where
    a loss averages over branches, give it the number of stripes as its weight.

    Args:
        feature_dim: Channels C of the backbone, at least 1.
        num_classes: Identities of the training set; None builds no classifiers, for inference.
        num_prefix_tokens: None; a backbone with tokens is refused.
        stripes: P, at least 1 and at most the height of the map.
        dropout: Probability, 0 to 1, that a channel of a stripe is dropped in training.
        reduced_dim: Width D' of a reduced stripe, at least 1.
        reduction: One reduction for all stripes, or one for each.
        metric_feature: What ``features["part_i"]`` is.
        test_feature: What the embedding is made of: ``pooled`` has P·C numbers, 12288 for a ResNet
            and 6 stripes, ``reduced`` P·D'.

    Attributes:
        embedding_dim: Width D of the embedding.

    Raises:
        ConfigError: A parameter is none of its choices or out of its range, or the backbone returns
            tokens.

    Source: Sun et al., "Beyond Part Models: Person Retrieval with Refined Part Pooling", section
        3.2; dropout, bias and ``pooled`` as torchreid has them.
    """

    embedding_dim: int

    def __init__(
        self,
        *,
        feature_dim: int,
        num_classes: int | None,
        num_prefix_tokens: int | None = None,
        stripes: int = 6,
        dropout: float = 0.5,
        reduced_dim: int = 256,
        reduction: Reduction = "shared",
        metric_feature: StripeFeature = "reduced",
        test_feature: StripeFeature = "pooled",
    ) -> None:
        super().__init__()
        _refuse_tokens(num_prefix_tokens)
        require_positive("stripes", stripes)
        require_positive("reduced_dim", reduced_dim)
        require_within("dropout", dropout, 0.0, 1.0)
        require_choice("reduction", reduction, get_args(Reduction))
        require_choice("metric_feature", metric_feature, get_args(StripeFeature))
        require_choice("test_feature", test_feature, get_args(StripeFeature))
        self.stripes = stripes
        self.metric_feature = metric_feature
        self.test_feature = test_feature
        self.embedding_dim = stripes * (feature_dim if test_feature == "pooled" else reduced_dim)
        self.layout = FeatureLayout(feature_dim)
        self.dropout = nn.Dropout(dropout)
        self.reductions = nn.ModuleList(
            StripeReduction(feature_dim, reduced_dim)
            for _ in range(1 if reduction == "shared" else stripes)
        )
        self.has_classifiers = num_classes is not None
        self.classifiers = nn.ModuleList(
            _classifier(reduced_dim, num_classes) for _ in range(stripes) if num_classes is not None
        )

    def forward(self, features: Tensor, pids: Tensor | None = None) -> HeadOutput:
        """Turn the backbone's map into an embedding and class scores of every stripe.

        Args:
            features: Map (B, C, h, w), floating point.
            pids: (B,) int64 labels; not used.

        Returns:
            ``embedding`` (B, D), ``features["part_i"]`` (B, C or D'), float32, and, in training
            with classifiers, ``logits["part_i"]`` (B, num_classes).

        Raises:
            PluginError: The features have another shape than the backbone declared.
            ConfigError: The map has fewer rows than there are stripes.
        """
        pooled = self._pool(self.layout.image_map(features))
        reduced = self._reduce(self.dropout(pooled))
        kinds = {"pooled": pooled, "reduced": reduced}
        tested = F.normalize(kinds[self.test_feature], dim=2)
        logits: Mapping[str, Tensor] = {}
        if self.training and self.has_classifiers:
            branches = zip(self.classifiers, reduced.unbind(1), strict=True)
            logits = _named([classifier(part) for classifier, part in branches])
        return HeadOutput(
            embedding=tested.flatten(1),
            features=_named(kinds[self.metric_feature].unbind(1)),
            logits=logits,
        )

    def _pool(self, features: Tensor) -> Tensor:
        """Return the mean of each stripe, (B, P, C)."""
        dtype = accumulation_dtype(features)
        means = [part.mean(dim=(2, 3), dtype=dtype) for part in cut(features, self.stripes)]
        return torch.stack(means, dim=1)

    def _reduce(self, pooled: Tensor) -> Tensor:
        """Return each stripe reduced, (B, P, D')."""
        if len(self.reductions) == 1:
            # Stripes are rows like images here: one normalisation over all of them.
            reduced: Tensor = self.reductions[0](pooled.flatten(0, 1))
            return reduced.reshape(*pooled.shape[:2], -1)
        parts = zip(self.reductions, pooled.unbind(1), strict=True)
        return torch.stack([reduction(part) for reduction, part in parts], dim=1)


class StripeReduction(nn.Module):
    """``ReLU(BN(W·x))``: the 1×1 convolution of a stripe that is one position high and wide.

    Args:
        feature_dim: Channels C it reads, at least 1.
        reduced_dim: Width D' it gives, at least 1.
    """

    def __init__(self, feature_dim: int, reduced_dim: int) -> None:
        super().__init__()
        self.linear = reduction_layer(feature_dim, reduced_dim)
        self.norm = nn.BatchNorm1d(reduced_dim)

    def forward(self, rows: Tensor) -> Tensor:
        """Map (M, C) floating point to (M, D') float32 as the parameters are."""
        # Parameters say what to compute in: float32 under autocast, half in a model cast to half.
        dtype = self.norm.weight.dtype
        normed: Tensor = self.norm(self.linear(rows.to(dtype)).to(dtype))
        return normed.relu()


def _refuse_tokens(num_prefix_tokens: int | None) -> None:
    if num_prefix_tokens is not None:
        raise ConfigError(
            "pcb cuts a feature map into stripes, and this backbone returns tokens; use a "
            "convolutional backbone, or head: embedding"
        )


def _classifier(reduced_dim: int, num_classes: int) -> nn.Linear:
    layer = nn.Linear(reduced_dim, num_classes)
    nn.init.normal_(layer.weight, std=CLASSIFIER_STD)
    nn.init.zeros_(layer.bias)
    return layer


def _named(parts: list[Tensor] | tuple[Tensor, ...]) -> Mapping[str, Tensor]:
    return {f"part_{part}": values for part, values in enumerate(parts)}
