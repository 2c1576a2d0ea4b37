"""The components of this package keep what the framework asks of them."""

from reid_core.plugins.index import installed
from reid_core.testing import BackboneConformance, OptimizerConformance

DIST = "reid-plugin-timm"


class TestConvolutional(BackboneConformance):
    name = "timm"
    dist = DIST
    parameters = {"model_name": "test_resnet", "last_stride": 1}


class TestInstanceBatchNormAndNonLocal(BackboneConformance):
    name = "timm"
    dist = DIST
    parameters = {"model_name": "test_resnet", "ibn": "a", "non_local": [0, 1, 1, 0]}


class TestTransformer(BackboneConformance):
    name = "timm"
    dist = DIST
    parameters = {"model_name": "test_vit"}


class TestOverlappingPatches(BackboneConformance):
    name = "timm"
    dist = DIST
    parameters = {"model_name": "test_vit", "patch_stride": 12}


class TestPooledNorm(BackboneConformance):
    name = "timm"
    dist = DIST
    parameters = {"model_name": "test_convnext"}


class TestTimmOptimizer(OptimizerConformance):
    name = "timm"
    dist = DIST
    parameters = {"optimizer": "clamb"}


class TestAdaBelief(OptimizerConformance):
    name = "adabelief"
    dist = DIST


class TestAdafactorBigVision(OptimizerConformance):
    name = "adafactorbv"
    dist = DIST


class TestAdamP(OptimizerConformance):
    name = "adamp"
    dist = DIST


class TestAdan(OptimizerConformance):
    name = "adan"
    dist = DIST


class TestAdopt(OptimizerConformance):
    name = "adopt"
    dist = DIST


class TestLamb(OptimizerConformance):
    name = "lamb"
    dist = DIST


class TestLaProp(OptimizerConformance):
    name = "laprop"
    dist = DIST


class TestLars(OptimizerConformance):
    name = "lars"
    dist = DIST


class TestLion(OptimizerConformance):
    name = "lion"
    dist = DIST


class TestMars(OptimizerConformance):
    name = "mars"
    dist = DIST


class TestNAdamW(OptimizerConformance):
    name = "nadamw"
    dist = DIST


class TestNovoGrad(OptimizerConformance):
    name = "novograd"
    dist = DIST


class TestRmspropTf(OptimizerConformance):
    name = "rmsproptf"
    dist = DIST


class TestSgdP(OptimizerConformance):
    name = "sgdp"
    dist = DIST


class TestSgdW(OptimizerConformance):
    name = "sgdw"
    dist = DIST


def test_every_component_of_the_package_is_here() -> None:
    classes = [one for one in globals().values() if isinstance(one, type)]
    checked = {(one.kind, one.name) for one in classes if getattr(one, "dist", "") == DIST}
    refs = [ref for ref in installed().refs if ref.dist == DIST and not ref.alias_of]
    assert checked == {(ref.kind, ref.name) for ref in refs}
