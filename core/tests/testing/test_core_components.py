"""Every component of the core itself passes the kit."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from reid_core.plugins.index import installed
from reid_core.testing import (
    DatasetConformance,
    HookConformance,
    ModelConformance,
    OptimizerConformance,
    ProtocolConformance,
    SamplerConformance,
    ScheduleConformance,
    TransformConformance,
    write_tiny_market,
)

# One process for all of them: they share what is slow to make.
pytestmark = pytest.mark.xdist_group("core_components")

DIST = "reid-core"


class TestBaseline(ModelConformance):
    name = "baseline"
    dist = DIST


class TestMarket1501(DatasetConformance):
    name = "market1501"
    dist = DIST

    def prepare(self, folder: Path) -> Mapping[str, object]:
        return {"root": str(write_tiny_market(folder))}


class TestSynthetic(DatasetConformance):
    name = "synthetic"
    dist = DIST
    parameters = {"identities": 4, "test_identities": 2, "cameras": 2, "shots": 2}

    def prepare(self, folder: Path) -> Mapping[str, object]:
        return {"root": str(folder)}


class TestIdentitySampler(SamplerConformance):
    name = "identity"
    dist = DIST
    parameters = {"identities": 4, "instances": 3}


class TestRandomSampler(SamplerConformance):
    name = "random"
    dist = DIST
    parameters = {"size": 8}


class TestRandomFlip(TransformConformance):
    name = "random_flip"
    dist = DIST


class TestPadCrop(TransformConformance):
    name = "pad_crop"
    dist = DIST


class TestRandomErasing(TransformConformance):
    name = "random_erasing"
    dist = DIST


class TestSgd(OptimizerConformance):
    name = "sgd"
    dist = DIST
    parameters = {"momentum": 0.9, "nesterov": True}
    lr = 0.01


class TestAdam(OptimizerConformance):
    name = "adam"
    dist = DIST


class TestAdamW(OptimizerConformance):
    name = "adamw"
    dist = DIST


class TestConstant(ScheduleConformance):
    name = "constant"
    dist = DIST


class TestMultiStep(ScheduleConformance):
    name = "multistep"
    dist = DIST
    parameters = {"milestones": [4, 8]}


class TestCosine(ScheduleConformance):
    name = "cosine"
    dist = DIST


class TestMarketProtocol(ProtocolConformance):
    name = "market1501"
    dist = DIST


class TestLrSchedule(HookConformance):
    name = "lr_schedule"
    dist = DIST


class TestCheckpoint(HookConformance):
    name = "checkpoint"
    dist = DIST


class TestEvaluation(HookConformance):
    name = "evaluation"
    dist = DIST


class TestMetricLog(HookConformance):
    name = "metric_log"
    dist = DIST


class TestConsole(HookConformance):
    name = "console"
    dist = DIST


class TestReport(HookConformance):
    name = "report"
    dist = DIST


def test_every_component_of_the_package_is_here() -> None:
    classes = [one for one in globals().values() if isinstance(one, type)]
    checked = {(one.kind, one.name) for one in classes if getattr(one, "dist", "") == DIST}
    refs = [ref for ref in installed().refs if ref.dist == DIST and not ref.alias_of]
    assert checked == {(ref.kind, ref.name) for ref in refs}
