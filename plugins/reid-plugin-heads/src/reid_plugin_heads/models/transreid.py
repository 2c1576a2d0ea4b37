"""TransReID: a transformer with a global branch and a branch of rearranged patches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from reid_core.contracts import HeadOutput
from reid_core.models import WeightedLoss
from reid_plugin_heads.checks import require_positive
from reid_plugin_heads.classifiers.arcface import PastPi
from reid_plugin_heads.classifiers.build import ClassifierName
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
from reid_plugin_heads.models.splitting import SplitBackbone, require_tokens, split_backbone
from reid_plugin_heads.models.token_groups import local_groups
from reid_plugin_heads.necks.build import build_neck

#: Standard deviation of the class weights at the start, as the authors have it.
CLASSIFIER_STD = 0.001


class TransReID(ComposedModel):
    """The class token of the whole image, and those of groups of patches from all over it.

    Of the backbone's last block and norm there are two copies. The first one gives the feature
    ``global``. The second one, the jigsaw patch module, sees the patches shifted, shuffled and cut
    into groups, each behind the class token as it came from the shared blocks; it gives ``local_1``
    to ``local_4``. Each feature has a BNNeck and a classifier. The embedding is the global feature
    and the local ones, these divided by their number, side by side.

    The published losses are half global and half local, each the mean over its branches: cross
    entropy without label smoothing, and triplet loss with soft margin, once with
    ``branches: [global]`` and once with ``branches: ["local_*"]``, each with ``weight: 0.5``.

    Camera and view embeddings are the backbone's: what it is conditioned on, the model passes on.

    Args:
        backbone: A transformer with a class token and ``split``.
        num_classes: Training identities; None builds no classifiers, for inference.
        losses: The losses; none for a model that only embeds.
        head: None; the model has its own heads.
        jpm: False leaves the local branch out: with a BNNeck on the class token that is the
            baseline of the paper.
        shift: Where the sequence of patches begins, counted with the class token at 0, at least 1:
            ``shift − 1`` patches go from its begin to its end; 5 for persons, 8 for vehicles.
        shuffle_groups: Rows that the sequence is laid out in to be read by columns, at least 1; 1
            shuffles nothing.
        parts: Groups of patches, at least 1.
        metric_feature: Side of the BNNecks that metric losses read.
        test_feature: Side of the BNNecks that the embedding is made of.
        classifier: Which classifier each feature has.
        scale: Factor of the class scores; null is the classifier's own.
        margin: Margin of the classifier; null is its own.
        centers: Centers a class of ``subcenter_arcface``; null is 3.
        past_pi: Rule of the ArcFace classifiers past π.

    Attributes:
        embedding_dim: Width of the embedding: (1 + ``parts``)·D, or D without local branch.

    Raises:
        ConfigError: A parameter is out of its range, or the backbone does not fit.

    Source: He et al., "TransReID: Transformer-based Object Re-Identification", sections 3.2 to 3.4.
    """

    embedding_dim: int

    def __init__(
        self,
        *,
        backbone: nn.Module,
        num_classes: int | None,
        losses: Sequence[WeightedLoss] = (),
        head: nn.Module | None = None,
        jpm: bool = True,
        shift: int = 5,
        shuffle_groups: int = 2,
        parts: int = 4,
        metric_feature: NeckSide = "before",
        test_feature: NeckSide = "before",
        classifier: ClassifierName = "linear",
        scale: float | None = None,
        margin: float | None = None,
        centers: int | None = None,
        past_pi: PastPi | None = None,
    ) -> None:
        refuse_head("transreid", head)
        counts = {"shift": shift, "shuffle_groups": shuffle_groups, "parts": parts}
        for name, count in counts.items():
            require_positive(name, count)
        width, prefix = require_tokens("transreid", backbone)
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
        split = split_backbone("transreid", backbone, (None, None) if jpm else (None,))
        names = branch_names(parts if jpm else 0)
        super().__init__(
            backbone=JigsawBackbone(split, num_prefix_tokens=prefix, **counts) if jpm else split,
            head=ClassTokensHead(
                {
                    name: BranchHead(build_neck("bnneck", feature_dim=width), settings)
                    for name in names
                }
            ),
            losses=losses,
        )
        self.embedding_dim = width * len(names)


class JigsawBackbone(SplitBackbone):
    """The global branch on all tokens, the local branch on each group of rearranged patches.

    Args:
        split: A trunk and two branches.
        num_prefix_tokens: Class and register tokens, which stand before each group.
        shift: As in :func:`reid_plugin_heads.models.token_groups.local_groups`, as are the others.
        shuffle_groups: Rows of the shuffle.
        parts: Number of groups.
    """

    def __init__(
        self,
        split: SplitBackbone,
        *,
        num_prefix_tokens: int,
        shift: int,
        shuffle_groups: int,
        parts: int,
    ) -> None:
        super().__init__(split.trunk, list(split.branches), split.conditions)
        self.num_prefix_tokens = num_prefix_tokens
        self.shift = shift
        self.shuffle_groups = shuffle_groups
        self.parts = parts

    def branch_features(self, shared: Tensor) -> list[Tensor]:
        """Return the tokens of the global branch, then those of each group.

        Args:
            shared: (B, P + N, D), what the trunk gives, P prefix tokens first.

        Returns:
            (B, P + N, D), then ``parts`` times (B, P + N // ``parts``, D).

        Raises:
            ConfigError: There are too few patches.
        """
        global_branch, local_branch = self.branches
        prefix, patches = shared.tensor_split([self.num_prefix_tokens], dim=1)
        groups = local_groups(
            patches, shift=self.shift, shuffle_groups=self.shuffle_groups, parts=self.parts
        )
        # One call for all groups: they have equal lengths, and samples do not see each other.
        together = torch.cat([torch.cat([prefix, group], dim=1) for group in groups])
        return [global_branch(shared), *local_branch(together).chunk(self.parts)]


class ClassTokensHead(nn.Module):
    """BNNeck and classifier of several class tokens.

    Args:
        branches: By name; the first one is the global one.
    """

    def __init__(self, branches: Mapping[str, BranchHead]) -> None:
        super().__init__()
        self._names = tuple(branches)
        self.branches = nn.ModuleDict({attribute_name(n): b for n, b in branches.items()})

    def forward(self, features: Sequence[Tensor], pids: Tensor | None = None) -> HeadOutput:
        """Turn the tokens of all branches into an embedding, features and class scores.

        Args:
            features: Tokens (B, N_i, D) of each branch, the class token first.
            pids: (B,) int64 labels, for classifiers with a margin.
        """
        outputs = {
            name: branch(tokens[:, 0], pids)
            for name, branch, tokens in zip(
                self._names, self.branches.values(), features, strict=True
            )
        }
        first, *local = (one.test_feature for one in outputs.values())
        return head_output(
            outputs,
            features={name: one.metric_feature for name, one in outputs.items()},
            embedding=concatenated([first, *(value / len(local) for value in local)]),
        )


def branch_names(parts: int) -> tuple[str, ...]:
    """Return ``global`` and the names of the local branches."""
    return ("global", *(f"local_{part + 1}" for part in range(parts)))
