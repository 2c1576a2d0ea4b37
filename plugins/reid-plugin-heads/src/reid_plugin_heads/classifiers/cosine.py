"""The cosine classifier: angles alone."""

from __future__ import annotations

from torch import Tensor

from reid_plugin_heads.classifiers.base import Classifier, cosines


class CosineClassifier(Classifier):
    """Cosines ``s · cos θ``, where θ is the angle between embedding and class weight.

    Args:
        embedding_dim: Width D, at least 1.
        num_classes: Identities of the training set, at least 1.
        scale: Factor s, above 0: without it the softmax of cosines stays near uniform.

    Raises:
        ConfigError: The scale is out of its range.

    Source: Wang et al., "NormFace: L2 Hypersphere Embedding for Face Verification".
    """

    def __init__(self, *, embedding_dim: int, num_classes: int, scale: float = 30.0) -> None:
        super().__init__(embedding_dim=embedding_dim, num_classes=num_classes, scale=scale)

    def similarity(self, feature: Tensor, weight: Tensor) -> Tensor:
        """Return cosines; shapes as in :meth:`Classifier.similarity`."""
        return cosines(feature, weight)
