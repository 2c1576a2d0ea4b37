"""Every data set of this package passes the conformance kit."""

from reid_core.plugins.index import installed
from reid_core.testing import DatasetConformance
from reid_plugin_datasets.testing import write_msmt17, write_vehicleid, write_veri776

DIST = "reid-plugin-datasets"


class TestMsmt17(DatasetConformance):
    name = "msmt17"
    dist = DIST

    def prepare(self, folder):
        return {"root": str(write_msmt17(folder))}


class TestVeri776(DatasetConformance):
    name = "veri776"
    dist = DIST
    parameters = {"views": ["keypoints.txt"]}

    def prepare(self, folder):
        return {"root": str(write_veri776(folder))}


class TestVehicleId(DatasetConformance):
    name = "vehicleid"
    dist = DIST

    def prepare(self, folder):
        return {"root": str(write_vehicleid(folder))}


def test_every_component_of_the_package_is_here() -> None:
    classes = [one for one in globals().values() if isinstance(one, type)]
    checked = {(one.kind, one.name) for one in classes if getattr(one, "dist", "") == DIST}
    refs = [ref for ref in installed().refs if ref.dist == DIST and not ref.alias_of]
    assert checked == {(ref.kind, ref.name) for ref in refs}
