"""A model small enough to train in a second, without a plugin."""

from __future__ import annotations

from torch import Tensor, nn

from reid_core.contracts import Batch, HeadOutput
from reid_core.models import Baseline, WeightedLoss


class TinyBackbone(nn.Module):
    """One convolution: images to maps (B, 8, h, w)."""

    feature_dim = 8
    num_prefix_tokens = None

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 5, stride=4)
        self.norm = nn.BatchNorm2d(8)

    def forward(self, images: Tensor) -> Tensor:
        """Return (B, 8, h, w)."""
        features: Tensor = self.norm(self.conv(images))
        return features.relu()


class TinyHead(nn.Module):
    """The average of a map, and a classifier on it.

    Args:
        feature_dim: Channels C of the map.
        num_classes: Training identities; None builds no classifier.
    """

    def __init__(self, *, feature_dim: int, num_classes: int | None) -> None:
        super().__init__()
        self.embedding_dim = feature_dim
        # Random draws in every step: whoever disturbs the global generator changes the run.
        self.dropout = nn.Dropout(0.1)
        self.classifier = None if num_classes is None else nn.Linear(feature_dim, num_classes)

    def forward(self, features: Tensor, pids: Tensor | None = None) -> HeadOutput:
        """Return embedding (B, C), features and logits."""
        pooled = features.mean(dim=(2, 3))
        logits = {}
        if self.training and self.classifier is not None:
            logits["global"] = self.classifier(self.dropout(pooled))
        return HeadOutput(embedding=pooled, features={"global": pooled}, logits=logits)


class TinyLoss(nn.Module):
    """Cross entropy of the global logits."""

    def forward(self, output: HeadOutput, batch: Batch) -> Tensor:
        """Return () float32."""
        return nn.functional.cross_entropy(output.logits["global"], batch.pids)


def tiny_parts(num_classes: int | None) -> dict[str, object]:
    """Return backbone, head and losses, as a model is given them.

    Args:
        num_classes: Training identities; None gives neither classifier nor losses.
    """
    backbone = TinyBackbone()
    head = TinyHead(feature_dim=backbone.feature_dim, num_classes=num_classes)
    losses = [] if num_classes is None else [WeightedLoss("tiny", TinyLoss())]
    return {"backbone": backbone, "head": head, "losses": losses}


def tiny_model(num_classes: int) -> Baseline:
    """Return the whole model."""
    backbone = TinyBackbone()
    head = TinyHead(feature_dim=backbone.feature_dim, num_classes=num_classes)
    return Baseline(backbone=backbone, head=head, losses=[WeightedLoss("tiny", TinyLoss())])
