"""Readers of occluded, video, infrared and clothes-changing sets, on trees as people have them."""

from dataclasses import dataclass, field

import pytest

from reid_core.errors import DataError
from reid_plugin_datasets.dukemtmc_videoreid import dukemtmc_videoreid
from reid_plugin_datasets.ltcc import ltcc
from reid_plugin_datasets.luperson import luperson
from reid_plugin_datasets.mars import mars
from reid_plugin_datasets.occluded import occluded_reid, p_dukemtmc, partial_reid
from reid_plugin_datasets.occluded_duke import occluded_duke
from reid_plugin_datasets.prcc import prcc
from reid_plugin_datasets.regdb import regdb
from reid_plugin_datasets.sysu_mm01 import sysu_mm01
from reid_plugin_datasets.testing import modalities, occluded, video


@dataclass(frozen=True)
class Case:
    write: object
    read: object
    inside: str = ""
    parameters: dict[str, object] = field(default_factory=dict)


CASES = {
    "occluded_duke": Case(occluded.write_occluded_duke, occluded_duke, "Occluded_Duke"),
    "occluded_reid": Case(occluded.write_occluded_reid, occluded_reid, "Occluded_REID"),
    "partial_reid": Case(occluded.write_partial_reid, partial_reid, "Partial-REID_Dataset"),
    "p_dukemtmc": Case(occluded.write_p_dukemtmc, p_dukemtmc, "P-DukeMTMC-reid"),
    "luperson": Case(
        occluded.write_luperson,
        luperson,
        parameters={"lists": ["images.txt"], "identity": "folder"},
    ),
    "mars": Case(video.write_mars, mars, "MARS"),
    "dukemtmc_videoreid": Case(
        video.write_dukemtmc_videoreid, dukemtmc_videoreid, "DukeMTMC-VideoReID"
    ),
    "sysu_mm01": Case(modalities.write_sysu_mm01, sysu_mm01, "SYSU-MM01"),
    "regdb": Case(modalities.write_regdb, regdb, "RegDB"),
    "prcc": Case(modalities.write_prcc, prcc, "prcc"),
    "ltcc": Case(modalities.write_ltcc, ltcc, "LTCC_ReID"),
}
ARCHIVES = [name for name, case in CASES.items() if case.inside]
SCANNED = [name for name in ARCHIVES if name not in ("mars", "regdb")]


@pytest.fixture(autouse=True)
def _scipy_for_mars(request):
    if "mars" in request.node.callspec.params.values():
        pytest.importorskip("scipy", reason="the tables of MARS need scipy")


def read(name, root):
    return CASES[name].read(root, **CASES[name].parameters)


def rows(manifest):
    columns = (manifest.paths, manifest.pids, manifest.camids, manifest.splits)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@pytest.mark.parametrize("name", ARCHIVES)
def test_the_folder_of_the_archive_and_the_one_above_are_the_same(name, tmp_path):
    CASES[name].write(tmp_path)
    assert rows(read(name, tmp_path / CASES[name].inside)) == rows(read(name, tmp_path))


@pytest.mark.parametrize("name", ARCHIVES)
def test_a_folder_too_deep_is_told_which_one_above_holds_all(name, tmp_path):
    CASES[name].write(tmp_path)
    holder = tmp_path / CASES[name].inside
    deep = next(path for path in sorted(holder.iterdir()) if path.is_dir())
    with pytest.raises(DataError) as caught:
        read(name, deep)
    assert f"{holder} holds them" in str(caught.value)
    assert f"data set {name}: " in str(caught.value)


@pytest.mark.parametrize("name", CASES)
def test_a_root_that_is_misspelt_is_told_the_nearest(name, tmp_path):
    (tmp_path / "data").mkdir()
    CASES[name].write(tmp_path / "data")
    with pytest.raises(DataError, match=rf"data set {name}: .*no folder .*daat.*nearest that"):
        read(name, tmp_path / "daat")


@pytest.mark.parametrize("name", SCANNED)
def test_suffixes_in_upper_case_are_images(name, tmp_path):
    CASES[name].write(tmp_path)
    expected = rows(read(name, tmp_path))
    for path in sorted(tmp_path.rglob("*")):
        if path.suffix in (".jpg", ".png", ".tif"):
            path.rename(path.with_suffix(path.suffix.upper()))
    found = rows(read(name, tmp_path))
    assert [(p.rpartition(".")[0], *rest) for p, *rest in found] == [
        (p.rpartition(".")[0], *rest) for p, *rest in expected
    ]
