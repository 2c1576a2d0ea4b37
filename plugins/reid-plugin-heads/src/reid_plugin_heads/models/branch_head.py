"""Neck and classifier of one branch, and the output of all of them together."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from reid_core.contracts import HeadOutput
from reid_core.errors import ConfigError
from reid_plugin_heads.checks import require_choice
from reid_plugin_heads.classifiers.arcface import PastPi
from reid_plugin_heads.classifiers.base import WEIGHT_STD
from reid_plugin_heads.classifiers.build import ClassifierName, build_classifier
from reid_plugin_heads.models.reduction import NormalisedReduction
from reid_plugin_heads.necks.neck import Neck

NeckSide = Literal["before", "after"]


@dataclass(frozen=True)
class BranchSettings:
    """What the branches of a model have in common.

    Args:
        num_classes: Training identities; None builds no classifiers, for inference.
        metric_feature: Side of the neck that metric losses read.
        test_feature: Side of the neck that goes into the embedding.
        classifier: Which classifier each branch has.
        scale: As of :func:`reid_plugin_heads.classifiers.build_classifier`; the next three also.
        margin: Margin of classifiers that have one.
        centers: Centers of ``subcenter_arcface``.
        past_pi: Rule of the ArcFace classifiers past π.
        classifier_std: Standard deviation of the class weights at the start, above 0.

    Raises:
        ConfigError: A side is neither ``before`` nor ``after``.
    """

    num_classes: int | None
    metric_feature: NeckSide
    test_feature: NeckSide
    classifier: ClassifierName = "linear"
    scale: float | None = None
    margin: float | None = None
    centers: int | None = None
    past_pi: PastPi | None = None
    classifier_std: float = WEIGHT_STD

    def __post_init__(self) -> None:
        require_choice("metric_feature", self.metric_feature, get_args(NeckSide))
        require_choice("test_feature", self.test_feature, get_args(NeckSide))

    def build_classifier(self, embedding_dim: int) -> nn.Module | None:
        """Return a classifier of features (B, D) float32, or None without ``num_classes``."""
        if self.num_classes is None:
            return None
        classifier = build_classifier(
            self.classifier,
            embedding_dim=embedding_dim,
            num_classes=self.num_classes,
            scale=self.scale,
            margin=self.margin,
            centers=self.centers,
            past_pi=self.past_pi,
        )
        with torch.no_grad():
            classifier.weight.mul_(self.classifier_std / WEIGHT_STD)
        return classifier


@dataclass(frozen=True)
class BranchOutput:
    """What one branch gives.

    Args:
        metric_feature: (B, D) float32, for metric losses.
        test_feature: (B, D) float32, for the embedding.
        logits: (B, num_classes) float32 with margin; None in evaluation or without classifier.
        scores: (B, num_classes) float32 without margin, or None likewise.
    """

    metric_feature: Tensor
    test_feature: Tensor
    logits: Tensor | None = None
    scores: Tensor | None = None


class BranchHead(nn.Module):
    """From the pooled feature of a branch to its sides and class scores.

    Args:
        neck: From (B, C) to ``before`` and ``after``, each (B, ``neck.embedding_dim``).
        settings: What all branches have in common.
    """

    def __init__(self, neck: Neck | NormalisedReduction, settings: BranchSettings) -> None:
        super().__init__()
        self.neck = neck
        self.metric_feature = settings.metric_feature
        self.test_feature = settings.test_feature
        self.classifier = settings.build_classifier(neck.embedding_dim)

    def forward(self, pooled: Tensor, pids: Tensor | None = None) -> BranchOutput:
        """Compute one branch.

        Args:
            pooled: (B, C) floating point.
            pids: (B,) int64 labels, for classifiers with a margin.
        """
        before, after = self.neck(pooled)
        sides = {"before": before, "after": after}
        metric, test = sides[self.metric_feature], sides[self.test_feature]
        if self.classifier is None or not self.training:
            return BranchOutput(metric, test)
        logits, scores = self.classifier(after, pids)
        return BranchOutput(metric, test, logits, scores)


def attribute_name(branch: str) -> str:
    """Return the name that a branch has as a submodule.

    An exported model is written as Python code, where ``model.global`` is no expression.
    """
    return f"{branch}_" if keyword.iskeyword(branch) else branch


def head_output(
    outputs: Mapping[str, BranchOutput], *, features: Mapping[str, Tensor], embedding: Tensor
) -> HeadOutput:
    """Put the outputs of all branches together.

    Args:
        outputs: By the name of the branch.
        features: What metric losses read, by name, each (B, D).
        embedding: What retrieval compares, (B, D').

    Returns:
        The output; its logits are those of all branches.
    """
    logits = {name: one.logits for name, one in outputs.items() if one.logits is not None}
    scores = {name: one.scores for name, one in outputs.items() if one.scores is not None}
    has_margin = any(logits[name] is not scores[name] for name in logits)
    return HeadOutput(
        embedding=embedding,
        features=features,
        logits=logits,
        scores=scores if has_margin else None,
    )


def concatenated(features: Iterable[Tensor]) -> Tensor:
    """Return features (B, D_i) side by side, (B, ΣD_i)."""
    return torch.cat(list(features), dim=1)


def refuse_head(model: str, head: nn.Module | None) -> None:
    """Refuse a configured head, which would have no effect.

    Raises:
        ConfigError: There is one.
    """
    if head is not None:
        raise ConfigError(
            f"model.head is set, but {model} builds the heads of its branches by itself; remove "
            "model.head, and set pooling, neck and classifier under model"
        )
