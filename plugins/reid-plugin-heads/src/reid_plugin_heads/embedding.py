"""The head that composes: any pooling, any neck, any classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from torch import Tensor, nn

from reid_core.contracts import HeadOutput
from reid_core.errors import PluginError
from reid_plugin_heads.checks import require_choice
from reid_plugin_heads.classifiers.arcface import PastPi
from reid_plugin_heads.classifiers.build import ClassifierName, build_classifier
from reid_plugin_heads.layout import FeatureLayout
from reid_plugin_heads.necks.build import NeckName, build_neck
from reid_plugin_heads.necks.sides import NeckSide
from reid_plugin_heads.pooling.build import PoolingName, build_pooling

MetricSide = Literal["pooled", "before", "after"]


@dataclass(frozen=True)
class Stages:
    """The feature of each image at the stages of a head.

    Args:
        pooled: (B, C) float32, what the pooling gives.
        before: (B, D) float32, before the normalisation of the neck.
        after: (B, D) float32, after it; ``before`` where the neck has none.
    """

    pooled: Tensor
    before: Tensor
    after: Tensor


class EmbeddingHead(nn.Module):
    """Pooling, neck, classifier, each by name.

    ``pooled = pooling(features)``, ``before, after = neck(pooled)``,
    ``logits = classifier(after)``.

    Args:
        feature_dim: Channels C of the backbone, at least 1.
        num_classes: Identities of the training set; None builds no classifier, for inference.
        num_prefix_tokens: Prefix tokens of a backbone that returns tokens; None for maps.
        pooling: How positions become one vector.
        gem_exponent: Exponent of ``gem``, and of ``gem_learned`` at the start, above 0; None is 3.
        neck: ``none``, ``bnneck`` (batch normalisation whose bias stays 0), ``reduction`` (linear
            layer without bias) or ``reduction_bnneck`` (the one after the other).
        embedding_dim: Width D after a reduction, at least 1; None without one.
        metric_feature: What ``features["global"]`` is: the feature before or after the neck's
            normalisation, or ``pooled``, the one before its reduction, which FastReID calls
            "before". Without a normalisation before and after are the same.
        test_feature: Side of the normalisation that ``embedding`` is taken from; FastReID always
            tests the one after.
        classifier: How the embedding is compared with the classes.
        scale: Factor of the class scores, above 0; None takes the classifier's own default.
        margin: Margin of the classifiers that have one; None takes the classifier's own default.
        centers: Weight vectors a class of ``subcenter_arcface``; None takes 3.
        past_pi: Rule of ``arcface`` and ``subcenter_arcface`` past π; None takes ``linear``.

    Attributes:
        embedding_dim: Width D of the embedding.

    Raises:
        ConfigError: A parameter is none of its choices or out of its range, has no use with the
            others, or does not fit the backbone.

    Source: He et al., "FastReID: A Pytorch Toolbox for General Instance Re-identification"; the
        neck is that of Luo et al., "Bag of Tricks and A Strong Baseline for Deep Person
        Re-identification", section 3.5.
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
        super().__init__()
        require_choice("metric_feature", metric_feature, get_args(MetricSide))
        require_choice("test_feature", test_feature, get_args(NeckSide))
        self.metric_feature = metric_feature
        self.test_feature = test_feature
        self.pooling = build_pooling(
            pooling, FeatureLayout(feature_dim, num_prefix_tokens), gem_exponent=gem_exponent
        )
        self.neck = build_neck(neck, feature_dim=feature_dim, embedding_dim=embedding_dim)
        self.embedding_dim = self.neck.embedding_dim
        built = build_classifier(
            classifier,
            embedding_dim=self.embedding_dim,
            num_classes=1 if num_classes is None else num_classes,
            scale=scale,
            margin=margin,
            centers=centers,
            past_pi=past_pi,
        )
        # Built for inference too, so that a wrong parameter is an error there as well.
        self.classifier = None if num_classes is None else built

    def forward(self, features: Tensor, pids: Tensor | None = None) -> HeadOutput:
        """Turn the backbone's features into an embedding and class scores.

        Args:
            features: Map (B, C, h, w) or tokens (B, N, C), floating point.
            pids: (B,) int64 labels; a classifier with a margin needs them in training.

        Returns:
            ``embedding`` (B, D), ``features["global"]`` (B, D, or C when pooled), both float32,
            and, in training with a classifier, ``logits["global"]`` (B, num_classes) float32, with
            ``scores["global"]`` where the logits carry a margin.

        Raises:
            PluginError: The features have another shape than the backbone declared, or the labels
                that a margin needs are missing.
        """
        return self.output(self.stages(features), pids)

    def stages(self, features: Tensor) -> Stages:
        """Compute the feature at each stage.

        Args:
            features: Map (B, C, h, w) or tokens (B, N, C), floating point.
        """
        pooled = self.pooling(features)
        before, after = self.neck(pooled)
        return Stages(pooled, before, after)

    def output(self, stages: Stages, pids: Tensor | None) -> HeadOutput:
        """Choose among the stages, and classify in training.

        Args:
            stages: What :meth:`stages` returned.
            pids: (B,) int64 labels, or None.
        """
        logits: dict[str, Tensor] = {}
        scores: dict[str, Tensor] | None = None
        if self.training and self.classifier is not None:
            if self.classifier.has_margin and pids is None:
                raise PluginError(
                    "a classifier with a margin got no labels in training; expected the model to "
                    "call head(features, pids)"
                )
            logits["global"], plain = self.classifier(stages.after, pids)
            scores = {"global": plain} if self.classifier.has_margin else None
        return HeadOutput(
            embedding=getattr(stages, self.test_feature),
            features={"global": getattr(stages, self.metric_feature)},
            logits=logits,
            scores=scores,
        )
