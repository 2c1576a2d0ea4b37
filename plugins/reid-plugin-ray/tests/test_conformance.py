"""The components of this package keep what the framework asks of them."""

from reid_core.plugins.index import installed
from reid_core.testing import HookConformance

DIST = "reid-plugin-ray"


class TestRayTune(HookConformance):
    name = "ray_tune"
    dist = DIST


def test_every_component_of_the_package_is_here() -> None:
    classes = [one for one in globals().values() if isinstance(one, type)]
    checked = {(one.kind, one.name) for one in classes if getattr(one, "dist", "") == DIST}
    refs = [ref for ref in installed().refs if ref.dist == DIST and not ref.alias_of]
    assert checked == {(ref.kind, ref.name) for ref in refs}
