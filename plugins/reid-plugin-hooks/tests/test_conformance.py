"""The components of this package keep what the framework asks of them."""

from reid_core.plugins.index import installed
from reid_core.testing import HookConformance

DIST = "reid-plugin-hooks"


class TestCsv(HookConformance):
    name = "csv"
    dist = DIST


class TestEma(HookConformance):
    name = "ema"
    dist = DIST


class TestEarlyStopping(HookConformance):
    name = "early_stopping"
    dist = DIST


class TestFreeze(HookConformance):
    name = "freeze"
    dist = DIST
    parameters = {"modules": ["backbone"], "steps": 3}


class TestGradientNorm(HookConformance):
    name = "gradient_norm"
    dist = DIST


class TestPreciseBn(HookConformance):
    name = "precise_bn"
    dist = DIST
    parameters = {"batches": 2, "when": "evaluation"}


class TestProfiler(HookConformance):
    name = "profiler"
    dist = DIST
    parameters = {"start": 1, "steps": 1}


class TestSwa(HookConformance):
    name = "swa"
    dist = DIST
    parameters = {"start_epoch": 0, "every": 3, "update_bn": 2}


def test_every_component_of_the_package_is_here() -> None:
    classes = [one for one in globals().values() if isinstance(one, type)]
    checked = {(one.kind, one.name) for one in classes if getattr(one, "dist", "") == DIST}
    refs = [ref for ref in installed().refs if ref.dist == DIST and not ref.alias_of]
    assert checked == {(ref.kind, ref.name) for ref in refs}
