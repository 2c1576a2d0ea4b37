"""Every data set of this package passes the conformance kit."""

import pytest

from reid_core.plugins.index import installed
from reid_core.testing import DatasetConformance
from reid_plugin_datasets.testing import write_msmt17, write_vehicleid, write_veri776
from reid_plugin_datasets.testing.animals import write_atrw, write_wildlife
from reid_plugin_datasets.testing.cuhk03 import write_cuhk03
from reid_plugin_datasets.testing.modalities import (
    write_ltcc,
    write_prcc,
    write_regdb,
    write_sysu_mm01,
)
from reid_plugin_datasets.testing.occluded import (
    write_luperson,
    write_occluded_duke,
    write_occluded_reid,
    write_p_dukemtmc,
    write_partial_reid,
)
from reid_plugin_datasets.testing.person import (
    write_cuhk01,
    write_cuhk02,
    write_cuhk_sysu,
    write_dukemtmc,
    write_grid,
    write_ilids,
    write_prid,
    write_sensereid,
    write_viper,
)
from reid_plugin_datasets.testing.vehicles import write_university1652, write_veri_wild
from reid_plugin_datasets.testing.video import write_dukemtmc_videoreid, write_mars

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


class TestVeriWild(DatasetConformance):
    name = "veri_wild"
    dist = DIST

    def prepare(self, folder):
        return {"root": str(write_veri_wild(folder))}


class TestUniversity1652(DatasetConformance):
    name = "university1652"
    dist = DIST

    def prepare(self, folder):
        return {"root": str(write_university1652(folder))}


class TestAtrw(DatasetConformance):
    name = "atrw"
    dist = DIST

    def prepare(self, folder):
        return {"root": str(write_atrw(folder))}


class TestWildlife(DatasetConformance):
    name = "wildlife"
    dist = DIST

    def prepare(self, folder):
        return {"root": str(write_wildlife(folder))}


class TestOccludedDuke(DatasetConformance):
    name = "occluded_duke"
    dist = DIST

    def prepare(self, folder):
        return {"root": str(write_occluded_duke(folder))}


class TestOccludedReid(DatasetConformance):
    name = "occluded_reid"
    dist = DIST

    def prepare(self, folder):
        return {"root": str(write_occluded_reid(folder))}


class TestPartialReid(DatasetConformance):
    name = "partial_reid"
    dist = DIST

    def prepare(self, folder):
        return {"root": str(write_partial_reid(folder))}


class TestPDukemtmc(DatasetConformance):
    name = "p_dukemtmc"
    dist = DIST

    def prepare(self, folder):
        return {"root": str(write_p_dukemtmc(folder))}


class TestLuperson(DatasetConformance):
    name = "luperson"
    dist = DIST
    parameters = {"lists": ["images.txt"]}

    def prepare(self, folder):
        return {"root": str(write_luperson(folder))}


class TestMars(DatasetConformance):
    name = "mars"
    dist = DIST

    def prepare(self, folder):
        return {"root": str(write_mars(folder))}


class TestDukemtmcVideoreid(DatasetConformance):
    name = "dukemtmc_videoreid"
    dist = DIST

    def prepare(self, folder):
        return {"root": str(write_dukemtmc_videoreid(folder))}


class TestSysuMm01(DatasetConformance):
    name = "sysu_mm01"
    dist = DIST

    def prepare(self, folder):
        return {"root": str(write_sysu_mm01(folder))}


class TestRegdb(DatasetConformance):
    name = "regdb"
    dist = DIST

    def prepare(self, folder):
        return {"root": str(write_regdb(folder))}


class TestPrcc(DatasetConformance):
    name = "prcc"
    dist = DIST

    def prepare(self, folder):
        return {"root": str(write_prcc(folder))}


class TestLtcc(DatasetConformance):
    name = "ltcc"
    dist = DIST

    def prepare(self, folder):
        return {"root": str(write_ltcc(folder))}


class TestCuhk01(DatasetConformance):
    name = "cuhk01"
    dist = DIST
    parameters = {"test_identities": 2}

    def prepare(self, folder):
        return {"root": str(write_cuhk01(folder))}


class TestCuhk02(DatasetConformance):
    name = "cuhk02"
    dist = DIST

    def prepare(self, folder):
        return {"root": str(write_cuhk02(folder))}


class TestCuhk03(DatasetConformance):
    name = "cuhk03"
    dist = DIST

    def prepare(self, folder):
        pytest.importorskip("h5py")
        pytest.importorskip("scipy")
        return {"root": str(write_cuhk03(folder))}


class TestCuhkSysu(DatasetConformance):
    name = "cuhk_sysu"
    dist = DIST

    def prepare(self, folder):
        return {"root": str(write_cuhk_sysu(folder))}


class TestDukemtmc(DatasetConformance):
    name = "dukemtmc"
    dist = DIST

    def prepare(self, folder):
        return {"root": str(write_dukemtmc(folder))}


class TestGrid(DatasetConformance):
    name = "grid"
    dist = DIST

    def prepare(self, folder):
        return {"root": str(write_grid(folder))}


class TestIlids(DatasetConformance):
    name = "ilids"
    dist = DIST

    def prepare(self, folder):
        return {"root": str(write_ilids(folder))}


class TestPrid(DatasetConformance):
    name = "prid"
    dist = DIST

    def prepare(self, folder):
        return {"root": str(write_prid(folder))}


class TestSenseReid(DatasetConformance):
    name = "sensereid"
    dist = DIST

    def prepare(self, folder):
        return {"root": str(write_sensereid(folder))}


class TestViper(DatasetConformance):
    name = "viper"
    dist = DIST

    def prepare(self, folder):
        return {"root": str(write_viper(folder))}


def test_every_component_of_the_package_is_here() -> None:
    classes = [one for one in globals().values() if isinstance(one, type)]
    checked = {(one.kind, one.name) for one in classes if getattr(one, "dist", "") == DIST}
    refs = [ref for ref in installed().refs if ref.dist == DIST and not ref.alias_of]
    assert checked == {(ref.kind, ref.name) for ref in refs}
