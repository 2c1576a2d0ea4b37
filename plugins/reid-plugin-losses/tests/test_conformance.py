"""The components of this package keep what the framework asks of them."""

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


def test_every_component_of_the_package_is_here() -> None:
    classes = [one for one in globals().values() if isinstance(one, type)]
    checked = {(one.kind, one.name) for one in classes if getattr(one, "dist", "") == DIST}
    refs = [ref for ref in installed().refs if ref.dist == DIST and not ref.alias_of]
    assert checked == {(ref.kind, ref.name) for ref in refs}
