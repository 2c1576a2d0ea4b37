"""The components of this package keep what the framework asks of them."""

from reid_core.plugins.index import installed
from reid_core.testing import BackboneConformance, RecipeConformance

DIST = "reid-plugin-osnet"


class TestOsnetX1(BackboneConformance):
    name = "osnet_x1_0"
    dist = DIST


class TestOsnetX075(BackboneConformance):
    name = "osnet_x0_75"
    dist = DIST


class TestOsnetX05(BackboneConformance):
    name = "osnet_x0_5"
    dist = DIST


class TestOsnetX025(BackboneConformance):
    name = "osnet_x0_25"
    dist = DIST


class TestOsnetMap(BackboneConformance):
    name = "osnet_x0_25"
    dist = DIST
    parameters = {"embedding": "map"}


class TestOsnetIbnX1(BackboneConformance):
    name = "osnet_ibn_x1_0"
    dist = DIST


class TestOsnetIbnX075(BackboneConformance):
    name = "osnet_ibn_x0_75"
    dist = DIST


class TestOsnetIbnX05(BackboneConformance):
    name = "osnet_ibn_x0_5"
    dist = DIST


class TestOsnetIbnX025(BackboneConformance):
    name = "osnet_ibn_x0_25"
    dist = DIST


class TestOsnetAinX1(BackboneConformance):
    name = "osnet_ain_x1_0"
    dist = DIST


class TestOsnetAinX075(BackboneConformance):
    name = "osnet_ain_x0_75"
    dist = DIST


class TestOsnetAinX05(BackboneConformance):
    name = "osnet_ain_x0_5"
    dist = DIST


class TestOsnetAinX025(BackboneConformance):
    name = "osnet_ain_x0_25"
    dist = DIST


class TestRecipes(RecipeConformance):
    name = "osnet"
    dist = DIST


def test_every_component_of_the_package_is_here() -> None:
    classes = [one for one in globals().values() if isinstance(one, type)]
    checked = {(one.kind, one.name) for one in classes if getattr(one, "dist", "") == DIST}
    refs = [ref for ref in installed().refs if ref.dist == DIST and not ref.alias_of]
    assert checked == {(ref.kind, ref.name) for ref in refs}
