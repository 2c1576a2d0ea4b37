"""The batch normalisation neck: metric losses before it, classification after it."""

from __future__ import annotations

from typing import get_args

from torch import Tensor, nn

from reid_core.contracts import HeadOutput
from reid_plugin_heads.checks import require_choice, require_positive
from reid_plugin_heads.layout import FeatureLayout
from reid_plugin_heads.necks.layers import bottleneck_layer, reduction_layer
from reid_plugin_heads.necks.sides import NeckSide
from reid_plugin_heads.pooling.build import PoolingName, build_pooling

#: Standard deviation of the classifier's weights at the start.
CLASSIFIER_STD = 0.001


class BNNeckHead(nn.Module):
    """Pool, normalise over the batch, classify without a bias.

    Metric losses want distances, classification wants angles: the normalisation between the two
    lets each have its own space. Its bias stays 0, so that the space stays centred, and so has
    the classifier none.

    Args:
        feature_dim: Channels C of the backbone, at least 1.
        num_classes: Identities of the training set; None builds no classifier, for inference.
        num_prefix_tokens: Prefix tokens of a backbone that returns tokens; None for maps.
        pooling: How positions become one vector.
        gem_exponent: Exponent of ``gem``, and of ``gem_learned`` at the start, above 0; None is 3.
        metric_feature: Side of the normalisation that ``features["global"]`` is taken from; Bag of
            Tricks trains its triplet loss ``before``.
        test_feature: Side of the normalisation that ``embedding`` is taken from; Bag of Tricks
            compares the feature ``after``, TransReID the one ``before``.
        embedding_dim: Width D of a linear layer without bias between pooling and normalisation,
            at least 1; None leaves the feature as wide as the backbone's. "Before" is then what
            this layer returns.

    Attributes:
        embedding_dim: Width D of the embedding.

    Raises:
        ConfigError: A parameter is none of its choices, or the pooling does not fit the backbone.

    Source: Luo et al., "Bag of Tricks and A Strong Baseline for Deep Person Re-identification",
        section 3.5.
    """

    embedding_dim: int

    def __init__(
        self,
        *,
        feature_dim: int,
        num_classes: int | None,
        num_prefix_tokens: int | None = None,
        pooling: PoolingName = "avg",
        gem_exponent: float | None = None,
        metric_feature: NeckSide = "before",
        test_feature: NeckSide = "after",
        embedding_dim: int | None = None,
    ) -> None:
        super().__init__()
        require_choice("metric_feature", metric_feature, get_args(NeckSide))
        require_choice("test_feature", test_feature, get_args(NeckSide))
        self.metric_feature = metric_feature
        self.test_feature = test_feature
        self.embedding_dim = feature_dim if embedding_dim is None else embedding_dim
        require_positive("embedding_dim", self.embedding_dim)
        self.pooling = build_pooling(
            pooling, FeatureLayout(feature_dim, num_prefix_tokens), gem_exponent=gem_exponent
        )
        self.reduction = (
            nn.Identity() if embedding_dim is None else reduction_layer(feature_dim, embedding_dim)
        )
        self.bottleneck = bottleneck_layer(self.embedding_dim)
        self.classifier = (
            None if num_classes is None else _classifier(self.embedding_dim, num_classes)
        )

    def forward(self, features: Tensor, pids: Tensor | None = None) -> HeadOutput:
        """Turn the backbone's features into an embedding and class scores.

        Args:
            features: Map (B, C, h, w) or tokens (B, N, C), floating point.
            pids: (B,) int64 labels; not used, margin classifiers read them.

        Returns:
            ``embedding`` (B, D), ``features["global"]`` (B, D), both float32, and, in training with
            a classifier, ``logits["global"]`` (B, num_classes).

        Raises:
            PluginError: The features have another shape than the backbone declared.
        """
        # Parameters say what to compute in: float32 under autocast, half in a model cast to half.
        dtype = self.bottleneck.weight.dtype
        before = self.reduction(self.pooling(features).to(dtype)).to(dtype)
        after = self.bottleneck(before)
        sides = {"before": before, "after": after}
        logits = {}
        if self.training and self.classifier is not None:
            logits["global"] = self.classifier(after)
        return HeadOutput(
            embedding=sides[self.test_feature],
            features={"global": sides[self.metric_feature]},
            logits=logits,
        )


def _classifier(embedding_dim: int, num_classes: int) -> nn.Linear:
    layer = nn.Linear(embedding_dim, num_classes, bias=False)
    nn.init.normal_(layer.weight, std=CLASSIFIER_STD)
    return layer
