import pytest

from reid_core.data.manifest import Count
from reid_core.errors import DataError
from reid_plugin_datasets.dukemtmc import dukemtmc
from reid_plugin_datasets.testing.person import write_dukemtmc


def test_names_say_identity_and_camera(tmp_path):
    manifest = dukemtmc(write_dukemtmc(tmp_path))
    assert manifest.splits.tolist() == ["train"] * 3 + ["query"] * 2 + ["gallery"] * 2
    assert manifest.pids.tolist() == [1, 1, 7, 5, 33, 5, 33]
    assert manifest.camids.tolist() == [2, 5, 8, 2, 1, 5, 4]
    assert all((manifest.root / path).is_file() for path in manifest.paths)


def test_that_it_was_taken_back_is_always_said(tmp_path):
    manifest = dukemtmc(write_dukemtmc(tmp_path))
    assert manifest.notes[0].startswith("the authors took DukeMTMC back in 2019")
    assert manifest.expected["train"] == Count(16522, 702)


def test_what_is_missing_is_named(tmp_path):
    folder = write_dukemtmc(tmp_path) / "DukeMTMC-reID"
    for path in (folder / "query").iterdir():
        path.rename(path.with_name("x.jpg"))
        break
    assert "1 images ignored" in dukemtmc(folder).notes[1]
    for path in sorted((folder / "query").iterdir()):
        path.unlink()
    with pytest.raises(DataError, match=r"no usable image in .*query; found no image; .*0002_c1_f"):
        dukemtmc(tmp_path)
