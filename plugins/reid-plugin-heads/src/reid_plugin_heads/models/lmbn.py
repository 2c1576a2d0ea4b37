"""LightMBN: global, partial and channel branches on a light backbone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch.nn.functional as F
from torch import Tensor, nn

from reid_core.contracts import HeadOutput
from reid_core.errors import ConfigError
from reid_core.models import WeightedLoss
from reid_plugin_heads.checks import require_positive
from reid_plugin_heads.classifiers.arcface import PastPi
from reid_plugin_heads.classifiers.build import ClassifierName
from reid_plugin_heads.layout import FeatureLayout
from reid_plugin_heads.models.bottleneck import make_block
from reid_plugin_heads.models.branch_head import (
    BranchHead,
    BranchSettings,
    NeckSide,
    attribute_name,
    concatenated,
    head_output,
    refuse_head,
)
from reid_plugin_heads.models.composed import ComposedModel
from reid_plugin_heads.models.erasing import EraseName, build_erasing
from reid_plugin_heads.models.reduction import NormalisedReduction
from reid_plugin_heads.models.splitting import Stride, require_map, split_backbone
from reid_plugin_heads.necks.build import build_neck
from reid_plugin_heads.pooling.build import PoolingName, build_pooling
from reid_plugin_heads.stripes import stripes

#: Branches whose pooled vector has the width of the backbone; the first three are whole images.
WIDE = ("global", "global_erased", "global_partial", "part_1", "part_2")
#: Branches of half the channels each.
CHANNELS = ("channel_1", "channel_2")
#: What metric losses see.
METRIC = WIDE[:3]
#: Standard deviation of the class weights at the start, as the authors have it.
CLASSIFIER_STD = 0.001


class LMBN(ComposedModel):
    """Three copies of the backbone's last layers, which give 7 features of one image.

    * The global branch ends in one more block; its map gives ``global`` by ``pooling``, and, with
      rows erased in training, ``global_erased`` by the maximum.
    * The partial branch gives ``global_partial`` by the maximum, and ``part_1`` and ``part_2``, the
      means of its upper and lower half.
    * The channel branch, pooled by ``pooling``, is cut into halves of the channels; one reduction
      that both share, a linear layer with batch normalisation and ReLU, gives ``channel_1`` and
      ``channel_2``.

    The first five are reduced by a linear layer of their own. Each of the 7 has a BNNeck and a
    classifier. Metric losses read the three global features before the BNNeck. The embedding is
    all 7 after it, each scaled to length 1, side by side: cosines of embeddings are the mean of the
    7 cosines, as the authors compare images.

    The additional block is one of the backbone's own kind where it makes such blocks
    (``make_block``), and the bottleneck of ResNets otherwise.

    The defaults are the authors' network on OSNet; theirs on ResNet-50 has ``pooling: max``,
    ``global_stride: 2``, ``part_stride: 1``. Its loss is half the mean cross entropy of the 7, with
    label smoothing 0.1, plus half the multi-similarity loss of the three.

    Args:
        backbone: A backbone of maps with ``split`` and an even number of channels C.
        num_classes: Training identities; None builds no classifiers, for inference.
        losses: The losses; none for a model that only embeds.
        head: None; the model has its own heads.
        embedding_dim: Width D of each of the 7 features, at least 1.
        pooling: How the positions of the global and the channel branch become one vector.
        gem_exponent: Exponent of the generalised means, above 0; null is 3.
        erase: Rows erased in training: ``top``, those most active in each image, as published; or
            ``band``, neighbouring ones at a random height, the same for the whole batch.
        erase_ratio: Share of the rows that is erased, above 0 and below 1.
        metric_feature: Side of the BNNecks that metric losses read.
        test_feature: Side of the BNNecks that the embedding is made of.
        normalize: False leaves the 7 features of the embedding at their own lengths.
        global_stride: Stride of the last stage in the global branch; null is the backbone's own.
        part_stride: Likewise in the other two branches.
        classifier: Which classifier each feature has.
        scale: Factor of the class scores; null is the classifier's own.
        margin: Margin of the classifier; null is its own.
        centers: Centers a class of ``subcenter_arcface``; null is 3.
        past_pi: Rule of the ArcFace classifiers past π.

    Attributes:
        embedding_dim: Width of the embedding, 7·D.

    Raises:
        ConfigError: A parameter is out of its range, or the backbone does not fit.

    Source: Herzog et al., "Lightweight Multi-Branch Network for Person Re-Identification",
        section 3.
    """

    embedding_dim: int

    def __init__(
        self,
        *,
        backbone: nn.Module,
        num_classes: int | None,
        losses: Sequence[WeightedLoss] = (),
        head: nn.Module | None = None,
        embedding_dim: int = 512,
        pooling: PoolingName = "avg",
        gem_exponent: float | None = None,
        erase: EraseName = "top",
        erase_ratio: float = 0.33,
        metric_feature: NeckSide = "before",
        test_feature: NeckSide = "after",
        normalize: bool = True,
        global_stride: Stride | None = None,
        part_stride: Stride | None = None,
        classifier: ClassifierName = "linear",
        scale: float | None = None,
        margin: float | None = None,
        centers: int | None = None,
        past_pi: PastPi | None = None,
    ) -> None:
        refuse_head("lmbn", head)
        require_positive("embedding_dim", embedding_dim)
        feature_dim = _even(require_map("lmbn", backbone))
        settings = BranchSettings(
            num_classes=num_classes,
            metric_feature=metric_feature,
            test_feature=test_feature,
            classifier=classifier,
            scale=scale,
            margin=margin,
            centers=centers,
            past_pi=past_pi,
            classifier_std=CLASSIFIER_STD,
        )
        layout = FeatureLayout(feature_dim)
        super().__init__(
            backbone=split_backbone("lmbn", backbone, (global_stride, part_stride, part_stride)),
            head=LMBNHead(
                block=make_block(backbone, feature_dim),
                erasing=build_erasing(erase, ratio=erase_ratio),
                poolings={
                    name: build_pooling(pooling, layout, gem_exponent=gem_exponent)
                    for name in ("global", "channel")
                },
                layout=layout,
                shared=NormalisedReduction(
                    feature_dim=feature_dim // 2, embedding_dim=embedding_dim
                ),
                branches=_branches(feature_dim, embedding_dim, settings),
                normalize=normalize,
            ),
            losses=losses,
        )
        self.embedding_dim = embedding_dim * len(WIDE + CHANNELS)


class LMBNHead(nn.Module):
    """The 7 features of three maps.

    Args:
        block: From the map of the global branch to one of the same shape.
        erasing: Erases rows of that map in training.
        poolings: Of the ``global`` and the ``channel`` branch.
        layout: How the maps are laid out.
        shared: The reduction of both halves of the channels.
        branches: Neck and classifier of each feature, by name.
        normalize: Whether each feature of the embedding is scaled to length 1.
    """

    def __init__(
        self,
        *,
        block: nn.Module,
        erasing: nn.Module,
        poolings: Mapping[str, nn.Module],
        layout: FeatureLayout,
        shared: NormalisedReduction,
        branches: Mapping[str, BranchHead],
        normalize: bool,
    ) -> None:
        super().__init__()
        self.block = block
        self.erasing = erasing
        self.poolings = nn.ModuleDict(poolings)
        self.maximum = build_pooling("max", layout)
        self.mean = build_pooling("avg", layout)
        self.shared = shared
        self.branches = nn.ModuleDict({attribute_name(n): b for n, b in branches.items()})
        self.normalize = normalize

    def forward(self, features: Sequence[Tensor], pids: Tensor | None = None) -> HeadOutput:
        """Turn the maps of the three branches into an embedding, features and class scores.

        Args:
            features: Maps (B, C, h_i, w_i) of the global, partial and channel branch.
            pids: (B,) int64 labels, for classifiers with a margin.

        Raises:
            ConfigError: The map of the partial branch has less than 2 rows.
        """
        outputs = {
            name: self.branches[attribute_name(name)](vector, pids)
            for name, vector in self._vectors(*features).items()
        }
        tested = [one.test_feature for one in outputs.values()]
        return head_output(
            outputs,
            features={name: outputs[name].metric_feature for name in METRIC},
            embedding=concatenated(map(F.normalize, tested) if self.normalize else tested),
        )

    def _vectors(self, whole: Tensor, partial: Tensor, channel: Tensor) -> dict[str, Tensor]:
        """Return the pooled vectors by the names of their branches."""
        whole = self.block(whole)
        upper, lower = stripes(partial, 2)
        halves = self.poolings["channel"](channel).chunk(2, dim=1)
        wide = (
            self.poolings["global"](whole),
            self.maximum(self.erasing(whole)),
            self.maximum(partial),
            self.mean(upper),
            self.mean(lower),
        )
        narrow = (self.shared(half)[0] for half in halves)
        return dict(zip(WIDE + CHANNELS, (*wide, *narrow), strict=True))


def _branches(
    feature_dim: int, embedding_dim: int, settings: BranchSettings
) -> dict[str, BranchHead]:
    wide = {
        name: build_neck("reduction_bnneck", feature_dim=feature_dim, embedding_dim=embedding_dim)
        for name in WIDE
    }
    narrow = {name: build_neck("bnneck", feature_dim=embedding_dim) for name in CHANNELS}
    return {name: BranchHead(neck, settings) for name, neck in {**wide, **narrow}.items()}


def _even(feature_dim: int) -> int:
    if feature_dim % 2:
        raise ConfigError(
            f"model lmbn cuts the channels of the backbone into halves, and {feature_dim} is odd; "
            "use another backbone"
        )
    return feature_dim
