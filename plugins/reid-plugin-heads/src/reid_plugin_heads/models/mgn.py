"""The Multiple Granularity Network: the whole, halves and thirds of a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

from torch import Tensor, nn

from reid_core.contracts import HeadOutput
from reid_core.models import WeightedLoss
from reid_plugin_heads.checks import require_choice, require_positive
from reid_plugin_heads.classifiers.arcface import PastPi
from reid_plugin_heads.classifiers.build import ClassifierName
from reid_plugin_heads.layout import FeatureLayout
from reid_plugin_heads.models.branch_head import (
    BranchHead,
    BranchOutput,
    BranchSettings,
    NeckSide,
    concatenated,
    head_output,
    refuse_head,
)
from reid_plugin_heads.models.composed import ComposedModel
from reid_plugin_heads.models.reduction import NormalisedReduction
from reid_plugin_heads.models.splitting import Stride, require_map, split_backbone
from reid_plugin_heads.necks.build import build_neck
from reid_plugin_heads.necks.neck import Neck
from reid_plugin_heads.pooling.build import PoolingName, build_pooling
from reid_plugin_heads.stripes import stripes

MetricBranches = Literal["global", "fastreid"]
MGNNeck = Literal["reduction_bn_relu", "reduction_bn", "reduction", "reduction_bnneck"]

#: Stripes of each branch; the first one has its global feature alone.
STRIPES = (1, 2, 3)


class MGN(ComposedModel):
    """Three copies of the backbone's last layers, which see the whole, 2 and 3 stripes.

    Branch i of 3 gives a global feature ``global_i``; the second one ``part_2_1`` and ``part_2_2``
    besides, the third one ``part_3_1`` to ``part_3_3``. Each of the 8 vectors is pooled, reduced
    and classified by itself. The embedding is all 8 side by side, the global ones first.

    The defaults are the authors' network: maximum pooling, a reduction with batch normalisation
    and ReLU, one vector for losses and retrieval, triplet loss over the 3 global vectors. Its loss
    is the mean cross entropy of the 8 plus 2 times the mean triplet loss with margin 1.2. FastReID
    differs: ``neck: reduction_bnneck``, ``metric_branches: fastreid``, generalised mean pooling.

    A backbone that has no stride to choose, such as OSNet, needs ``global_stride: null`` and
    ``part_stride: null``.

    Args:
        backbone: A backbone of maps with ``split``.
        num_classes: Training identities; None builds no classifiers, for inference.
        losses: The losses; none for a model that only embeds.
        head: None; the model has its own heads.
        embedding_dim: Width D of each of the 8 vectors, at least 1.
        pooling: How the positions of a map or stripe become one vector.
        gem_exponent: Exponent of the generalised means, above 0; null is 3.
        neck: ``reduction_bn_relu`` and ``reduction_bn``: a linear layer and a batch normalisation
            with a bias, with ReLU or without; ``reduction``: the linear layer alone;
            ``reduction_bnneck``: the linear layer and a BNNeck, whose two sides can be told apart.
        metric_feature: Side of a BNNeck that metric losses read.
        test_feature: Side of a BNNeck that the embedding is made of.
        metric_branches: ``global``: metric losses see the 3 global vectors; ``fastreid``: these,
            and the parts of each branch side by side, as ``part_2`` and ``part_3``.
        global_stride: Stride of the last stage in the first branch; null is the backbone's own.
        part_stride: Likewise in the other two.
        classifier: Which classifier each vector has.
        scale: Factor of the class scores; null is the classifier's own.
        margin: Margin of the classifier; null is its own.
        centers: Centers a class of ``subcenter_arcface``; null is 3.
        past_pi: Rule of the ArcFace classifiers past π.

    Attributes:
        embedding_dim: Width of the embedding, 8·D.

    Raises:
        ConfigError: A parameter is out of its range, or the backbone does not fit.

    Source: Wang et al., "Learning Discriminative Features with Multiple Granularities for Person
        Re-Identification", figure 3.
    """

    embedding_dim: int

    def __init__(
        self,
        *,
        backbone: nn.Module,
        num_classes: int | None,
        losses: Sequence[WeightedLoss] = (),
        head: nn.Module | None = None,
        embedding_dim: int = 256,
        pooling: PoolingName = "max",
        gem_exponent: float | None = None,
        neck: MGNNeck = "reduction_bn_relu",
        metric_feature: NeckSide = "before",
        test_feature: NeckSide = "after",
        metric_branches: MetricBranches = "global",
        global_stride: Stride | None = 2,
        part_stride: Stride | None = 1,
        classifier: ClassifierName = "linear",
        scale: float | None = None,
        margin: float | None = None,
        centers: int | None = None,
        past_pi: PastPi | None = None,
    ) -> None:
        refuse_head("mgn", head)
        feature_dim = require_map("mgn", backbone)
        settings = BranchSettings(
            num_classes=num_classes,
            metric_feature=metric_feature,
            test_feature=test_feature,
            classifier=classifier,
            scale=scale,
            margin=margin,
            centers=centers,
            past_pi=past_pi,
        )
        branches = {
            name: BranchHead(build_mgn_neck(neck, feature_dim, embedding_dim), settings)
            for name in vector_names()
        }
        layout = FeatureLayout(feature_dim)
        poolings = {
            name: build_pooling(pooling, layout, gem_exponent=gem_exponent) for name in branches
        }
        super().__init__(
            backbone=split_backbone("mgn", backbone, (global_stride, part_stride, part_stride)),
            head=MGNHead(branches=branches, poolings=poolings, metric_branches=metric_branches),
            losses=losses,
        )
        self.embedding_dim = embedding_dim * len(branches)


class MGNHead(nn.Module):
    """The 8 vectors of three maps.

    Args:
        branches: Neck and classifier of each vector, by name.
        poolings: From a map or stripe to a vector, by the same names.
        metric_branches: What metric losses see.

    Raises:
        ConfigError: No such ``metric_branches``.
    """

    def __init__(
        self,
        *,
        branches: Mapping[str, BranchHead],
        poolings: Mapping[str, nn.Module],
        metric_branches: MetricBranches,
    ) -> None:
        super().__init__()
        require_choice("metric_branches", metric_branches, get_args(MetricBranches))
        self.metric_branches = metric_branches
        self.poolings = nn.ModuleDict(poolings)
        self.branches = nn.ModuleDict(branches)

    def forward(self, features: Sequence[Tensor], pids: Tensor | None = None) -> HeadOutput:
        """Turn the maps of the three branches into an embedding, features and class scores.

        Args:
            features: Three maps (B, C, h_i, w_i), floating point.
            pids: (B,) int64 labels, for classifiers with a margin.

        Raises:
            ConfigError: A map has fewer rows than it has stripes.
        """
        outputs: dict[str, BranchOutput] = {}
        for name, region in _regions(features).items():
            outputs[name] = self.branches[name](self.poolings[name](region), pids)
        return head_output(
            outputs,
            features=self._metric_features(outputs),
            embedding=concatenated(one.test_feature for one in outputs.values()),
        )

    def _metric_features(self, outputs: Mapping[str, BranchOutput]) -> dict[str, Tensor]:
        features = {
            name: one.metric_feature for name, one in outputs.items() if name.startswith("global_")
        }
        if self.metric_branches == "fastreid":
            for count in STRIPES[1:]:
                features[f"part_{count}"] = concatenated(
                    outputs[f"part_{count}_{part + 1}"].metric_feature for part in range(count)
                )
        return features


def vector_names() -> tuple[str, ...]:
    """Return the names of the 8 vectors in the order of the embedding."""
    parts = [f"part_{count}_{part + 1}" for count in STRIPES[1:] for part in range(count)]
    return (*(f"global_{branch + 1}" for branch in range(len(STRIPES))), *parts)


def build_mgn_neck(
    name: MGNNeck, feature_dim: int, embedding_dim: int
) -> Neck | NormalisedReduction:
    """Build the reduction of a vector.

    Args:
        name: Which one; see :class:`MGN`.
        feature_dim: Channels C of the pooled vector.
        embedding_dim: Width D it is reduced to, at least 1.

    Raises:
        ConfigError: No such name, or a width below 1.
    """
    require_choice("neck", name, get_args(MGNNeck))
    require_positive("embedding_dim", embedding_dim)
    if name == "reduction" or name == "reduction_bnneck":
        return build_neck(name, feature_dim=feature_dim, embedding_dim=embedding_dim)
    return NormalisedReduction(
        feature_dim=feature_dim,
        embedding_dim=embedding_dim,
        has_relu=name == "reduction_bn_relu",
    )


def _regions(features: Sequence[Tensor]) -> dict[str, Tensor]:
    """Return the maps and stripes that the vectors are pooled from, by their names."""
    pieces = [
        piece
        for value, count in zip(features[1:], STRIPES[1:], strict=True)
        for piece in stripes(value, count)
    ]
    return dict(zip(vector_names(), [*features, *pieces], strict=True))
