"""The plain head: pool, then classify."""

from __future__ import annotations

from torch import Tensor, nn

from reid_core.contracts import HeadOutput
from reid_plugin_heads.layout import FeatureLayout
from reid_plugin_heads.pooling.build import PoolingName, build_pooling

#: Standard deviation of the classifier's weights at the start.
CLASSIFIER_STD = 0.01


class LinearHead(nn.Module):
    """Pool, and classify the pooled feature with a linear layer.

    The pooled feature is the embedding and what metric losses read.

    Args:
        feature_dim: Channels C of the backbone, at least 1.
        num_classes: Identities of the training set; None builds no classifier, for inference.
        num_prefix_tokens: Prefix tokens of a backbone that returns tokens; None for maps.
        pooling: How positions become one vector.
        gem_exponent: Exponent of ``gem``, and of ``gem_learned`` at the start, above 0; None is 3.

    Attributes:
        embedding_dim: Width D of the embedding, which is ``feature_dim``.

    Raises:
        ConfigError: No pooling has that name, or it fits neither the backbone nor the exponent.

    Source: Zheng et al., "Person Re-identification: Past, Present and Future".
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
    ) -> None:
        super().__init__()
        self.embedding_dim = feature_dim
        self.pooling = build_pooling(
            pooling, FeatureLayout(feature_dim, num_prefix_tokens), gem_exponent=gem_exponent
        )
        self.classifier: nn.Linear | None = None
        if num_classes is not None:
            self.classifier = nn.Linear(feature_dim, num_classes)
            nn.init.normal_(self.classifier.weight, std=CLASSIFIER_STD)
            nn.init.zeros_(self.classifier.bias)

    def forward(self, features: Tensor, pids: Tensor | None = None) -> HeadOutput:
        """Turn the backbone's features into an embedding and class scores.

        Args:
            features: Map (B, C, h, w) or tokens (B, N, C), floating point.
            pids: (B,) int64 labels; not used, margin classifiers read them.

        Returns:
            ``embedding`` and ``features["global"]``, the same (B, D) float32, and, in training with
            a classifier, ``logits["global"]`` (B, num_classes).

        Raises:
            PluginError: The features have another shape than the backbone declared.
        """
        pooled = self.pooling(features)
        logits = {}
        if self.training and self.classifier is not None:
            logits["global"] = self.classifier(pooled.to(self.classifier.weight.dtype))
        return HeadOutput(embedding=pooled, features={"global": pooled}, logits=logits)
