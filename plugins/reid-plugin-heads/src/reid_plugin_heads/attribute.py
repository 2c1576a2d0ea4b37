"""The attribute head: identity and attributes such as "carries a bag" from one feature."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor, nn

from reid_core.contracts import HeadOutput
from reid_plugin_heads.checks import require_positive
from reid_plugin_heads.classifiers.arcface import PastPi
from reid_plugin_heads.classifiers.base import WEIGHT_STD
from reid_plugin_heads.classifiers.build import ClassifierName
from reid_plugin_heads.embedding import EmbeddingHead, MetricSide
from reid_plugin_heads.necks.build import NeckName
from reid_plugin_heads.necks.sides import NeckSide
from reid_plugin_heads.pooling.build import PoolingName
from reid_plugin_heads.precision import full_precision


class AttributeHead(EmbeddingHead):
    """The head ``embedding``, and one logit an attribute of the feature after its neck.

    ``attributes = BN(W·after)``, where the batch normalisation has a bias of its own and so the
    linear layer none. A probability is the sigmoid of its logit.

    Args:
        feature_dim: Channels C of the backbone, at least 1.
        num_classes: Identities of the training set; None builds no classifier of identities, for
            inference. The attributes are there all the same.
        num_attributes: Attributes A, at least 1.
        num_prefix_tokens: Prefix tokens of a backbone that returns tokens; None for maps.
        pooling: See :class:`EmbeddingHead`, as for all that follow.
        gem_exponent: Exponent of ``gem`` and ``gem_learned``.
        neck: What lies between pooling and classifiers.
        embedding_dim: Width D after a reduction.
        metric_feature: What metric losses read.
        test_feature: What retrieval compares.
        classifier: How the embedding is compared with the identities.
        scale: Factor of the class scores.
        margin: Margin of the classifiers that have one.
        centers: Weight vectors a class of ``subcenter_arcface``.
        past_pi: Rule of ``arcface`` and ``subcenter_arcface`` past π.

    Attributes:
        embedding_dim: Width D of the embedding.

    Raises:
        ConfigError: A parameter is none of its choices or out of its range, has no use with the
            others, or does not fit the backbone.

    Source: FastReID's project FastAttr, which has the attributes without the identities; Lin et
        al., "Improving Person Re-identification by Attribute and Identity Learning", section 4.
    """

    def __init__(
        self,
        *,
        feature_dim: int,
        num_classes: int | None,
        num_attributes: int,
        num_prefix_tokens: int | None = None,
        pooling: PoolingName = "avg",
        gem_exponent: float | None = None,
        neck: NeckName = "bnneck",
        embedding_dim: int | None = None,
        metric_feature: MetricSide = "before",
        test_feature: NeckSide = "after",
        classifier: ClassifierName = "linear",
        scale: float | None = None,
        margin: float | None = None,
        centers: int | None = None,
        past_pi: PastPi | None = None,
    ) -> None:
        require_positive("num_attributes", num_attributes)
        super().__init__(
            feature_dim=feature_dim,
            num_classes=num_classes,
            num_prefix_tokens=num_prefix_tokens,
            pooling=pooling,
            gem_exponent=gem_exponent,
            neck=neck,
            embedding_dim=embedding_dim,
            metric_feature=metric_feature,
            test_feature=test_feature,
            classifier=classifier,
            scale=scale,
            margin=margin,
            centers=centers,
            past_pi=past_pi,
        )
        self.attributes = AttributePredictor(self.embedding_dim, num_attributes)

    def forward(self, features: Tensor, pids: Tensor | None = None) -> HeadOutput:
        """Turn the backbone's features into an embedding, class scores and attributes.

        Args:
            features: Map (B, C, h, w) or tokens (B, N, C), floating point.
            pids: (B,) int64 labels; a classifier with a margin needs them in training.

        Returns:
            What :meth:`EmbeddingHead.forward` returns, and ``attributes`` (B, A) float32, in
            training and in evaluation.

        Raises:
            PluginError: The features have another shape than the backbone declared, or the labels
                that a margin needs are missing.
        """
        stages = self.stages(features)
        return replace(self.output(stages, pids), attributes=self.attributes(stages.after))


class AttributePredictor(nn.Module):
    """A linear layer without bias, and batch normalisation of its logits.

    Rare attributes have logits far from 0: the normalisation brings all of them to one scale.

    Args:
        embedding_dim: Width D, at least 1.
        num_attributes: Attributes A, at least 1.
    """

    def __init__(self, embedding_dim: int, num_attributes: int) -> None:
        super().__init__()
        self.linear = nn.Linear(embedding_dim, num_attributes, bias=False)
        nn.init.normal_(self.linear.weight, std=WEIGHT_STD)
        self.norm = nn.BatchNorm1d(num_attributes)

    def forward(self, feature: Tensor) -> Tensor:
        """Predict the attributes.

        Args:
            feature: (B, D) floating point.

        Returns:
            Logits (B, A), float32 as the parameters are, under autocast too.
        """
        with full_precision(feature):
            logits: Tensor = self.norm(self.linear(feature.to(self.linear.weight.dtype)))
        return logits
