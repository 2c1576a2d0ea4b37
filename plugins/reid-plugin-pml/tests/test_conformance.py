"""The component keeps what the framework asks of it, with losses of several kinds."""

from reid_core import Batch, HeadOutput
from reid_core.plugins.index import installed
from reid_core.testing import LossConformance

DIST = "reid-plugin-pml"


class TestTripletsOfAMiner(LossConformance):
    name = "pml"
    dist = DIST
    parameters = {
        "loss": "TripletMarginLoss",
        "loss_params": {"margin": 0.3},
        "miner": "BatchHardMiner",
        "reducer": "MeanReducer",
    }

    def reference(self, output: HeadOutput, batch: Batch) -> float:
        features, pids = output.features["global"].double(), batch.pids.tolist()
        unit = [row / row.norm() for row in features]
        costs = []
        for i, pid in enumerate(pids):
            distances = [(unit[i] - other).norm().item() for other in unit]
            positive = max(d for j, d in enumerate(distances) if pids[j] == pid and j != i)
            negative = min(d for j, d in enumerate(distances) if pids[j] != pid)
            costs.append(max(0.0, positive - negative + 0.3))
        return sum(costs) / len(costs)


class TestPairsOfAMiner(LossConformance):
    name = "pml"
    dist = DIST
    parameters = {"loss": "MultiSimilarityLoss", "miner": "MultiSimilarityMiner"}


class TestProxies(LossConformance):
    name = "pml"
    dist = DIST
    parameters = {"loss": "ProxyAnchorLoss", "lr_factor": 100.0}
    feature_dim = 8


class TestSeveralBranches(LossConformance):
    name = "pml"
    dist = DIST
    parameters = {"loss": "SupConLoss", "distance": "CosineSimilarity"}
    branches = ("global", "upper")
    feature_dim = 8


class TestMemory(LossConformance):
    name = "pml"
    dist = DIST
    parameters = {"loss": "ContrastiveLoss", "miner": "PairMarginMiner", "memory": 40}
    has_exact_gradient = False  # the rows that it remembers, its own among them, are constants


def test_every_component_of_the_package_is_here() -> None:
    classes = [one for one in globals().values() if isinstance(one, type)]
    checked = {(one.kind, one.name) for one in classes if getattr(one, "dist", "") == DIST}
    refs = [ref for ref in installed().refs if ref.dist == DIST and not ref.alias_of]
    assert checked == {(ref.kind, ref.name) for ref in refs}
