"""The component of this package keeps what the framework asks of it."""

from reid_core.plugins.index import installed
from reid_core.testing import HookConformance

DIST = "reid-plugin-tensorboard"


class TestTensorBoard(HookConformance):
    name = "tensorboard"
    dist = DIST


def test_every_component_of_the_package_is_here() -> None:
    refs = [ref for ref in installed().refs if ref.dist == DIST and not ref.alias_of]
    assert {(ref.kind, ref.name) for ref in refs} == {("hooks", "tensorboard")}
