"""The components of this package keep what the framework asks of them."""

import math
from dataclasses import replace

import torch

from reid_core import Batch, HeadOutput
from reid_core.plugins.index import installed
from reid_core.testing import LossConformance

DIST = "reid-plugin-losses"


class TestCrossEntropy(LossConformance):
    name = "cross_entropy"
    dist = DIST

    def reference(self, output: HeadOutput, batch: Batch) -> float:
        logits = output.logits["global"].double()
        rows = [row.exp() / row.exp().sum() for row in logits]
        probabilities = [p[pid] for p, pid in zip(rows, batch.pids.tolist(), strict=True)]
        return -sum(p.log().item() for p in probabilities) / len(probabilities)


class TestSmoothedCrossEntropy(LossConformance):
    name = "cross_entropy"
    dist = DIST
    parameters = {"label_smoothing": 0.1, "smoothing": "other_classes"}


class TestAdaptiveCrossEntropy(LossConformance):
    name = "cross_entropy"
    dist = DIST
    parameters = {"smoothing": "adaptive", "reduction": "nonzero_mean"}
    has_exact_gradient = False


class TestFocal(LossConformance):
    name = "focal"
    dist = DIST

    def reference(self, output: HeadOutput, batch: Batch) -> float:
        costs = []
        for row, pid in zip(output.logits["global"].double(), batch.pids.tolist(), strict=True):
            p = (row[pid].exp() / row.exp().sum()).item()
            costs.append(-0.25 * (1 - p) ** 2 * math.log(p))
        return sum(costs) / len(costs)


class TestTriplet(LossConformance):
    name = "triplet"
    dist = DIST

    def reference(self, output: HeadOutput, batch: Batch) -> float:
        features, pids = output.features["global"].double(), batch.pids.tolist()
        costs = []
        for i, pid in enumerate(pids):
            distances = [(features[i] - other).norm().item() for other in features]
            positives = [d for j, d in enumerate(distances) if pids[j] == pid and j != i]
            negatives = [d for j, d in enumerate(distances) if pids[j] != pid]
            costs.append(max(0.0, max(positives) - min(negatives) + 0.3))
        return sum(costs) / len(costs)


class TestSoftTriplet(LossConformance):
    name = "triplet"
    dist = DIST
    parameters = {"margin": "soft", "distance": "squared_euclidean", "normalize": True}


class TestTripletOfSeveralBranches(LossConformance):
    name = "triplet"
    dist = DIST
    branches = ("global", "upper", "lower")


class TestSoftmaxWeightedTriplet(LossConformance):
    name = "triplet"
    dist = DIST
    parameters = {"mining": "softmax_weighted", "margin": "soft"}


class TestSoftmaxWeightedTripletOfFastreid(LossConformance):
    name = "triplet"
    dist = DIST
    parameters = {"mining": "softmax_weighted", "margin": "soft", "convention": "fastreid"}


class TestSemiHardTriplet(LossConformance):
    name = "triplet"
    dist = DIST
    parameters = {"mining": "semi_hard"}


class TestAllTriplets(LossConformance):
    name = "triplet"
    dist = DIST
    parameters = {"mining": "all"}


class TestAllNonzeroTriplets(LossConformance):
    name = "triplet"
    dist = DIST
    parameters = {"mining": "all_nonzero"}


class TestCircle(LossConformance):
    name = "circle"
    dist = DIST
    has_exact_gradient = False  # the weights of the pairs have none


class TestCosFace(LossConformance):
    name = "cosface"
    dist = DIST


class TestContrastive(LossConformance):
    name = "contrastive"
    dist = DIST


class TestContrastiveMemory(LossConformance):
    name = "contrastive_memory"
    dist = DIST
    parameters = {"memory_size": 32}


class TestSupervisedContrastive(LossConformance):
    name = "supervised_contrastive"
    dist = DIST


class TestInfoNCE(LossConformance):
    name = "info_nce"
    dist = DIST


class TestMultiSimilarity(LossConformance):
    name = "multi_similarity"
    dist = DIST


class TestCenter(LossConformance):
    name = "center"
    dist = DIST

    def context(self) -> dict[str, object]:
        return {**super().context(), "weight": 0.0005}


class TestProxyAnchor(LossConformance):
    name = "proxy_anchor"
    dist = DIST


class TestAttributeBCE(LossConformance):
    name = "attribute_bce"
    dist = DIST
    parameters = {"positive_ratios": [0.1, 0.5, 0.9]}

    def batch(self) -> Batch:
        batch = super().batch()
        # What an identity wears: a matter of the identity.
        answers = torch.tensor([[0, 1, 0], [0, 0, 1], [1, 1, 1], [0, 1, -1]])[batch.pids]
        return replace(batch, columns={"attributes": answers})

    def output(self, rows: int) -> HeadOutput:
        logits = torch.randn(rows, 3, generator=torch.Generator().manual_seed(0))
        return replace(super().output(rows), attributes=logits)


def test_every_component_of_the_package_is_here() -> None:
    classes = [one for one in globals().values() if isinstance(one, type)]
    checked = {(one.kind, one.name) for one in classes if getattr(one, "dist", "") == DIST}
    refs = [ref for ref in installed().refs if ref.dist == DIST and not ref.alias_of]
    assert checked == {(ref.kind, ref.name) for ref in refs}
