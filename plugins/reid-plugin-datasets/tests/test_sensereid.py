import pytest

from reid_core.data.manifest import Count
from reid_core.errors import DataError
from reid_plugin_datasets.sensereid import sensereid
from reid_plugin_datasets.testing.person import write_sensereid


@pytest.mark.parametrize("probe", ["test_probe", "test_prob"])
def test_it_is_a_test_set_however_the_folder_is_spelled(probe, tmp_path):
    folder = write_sensereid(tmp_path) / "SenseReID"
    (folder / "test_probe").rename(folder / probe)
    for root in (tmp_path, folder):
        manifest = sensereid(root)
        assert manifest.splits.tolist() == ["query"] * 2 + ["gallery"] * 3
        assert manifest.pids.tolist() == [1, 2, 1, 2, 3]
        assert manifest.camids.tolist() == [0, 0, 1, 1, 0]
        assert manifest.paths.tolist()[0] == f"{probe}/00001_0.jpg"
    assert manifest.expected["gallery"] == Count(3388, 1717)
    assert manifest.notes == ("for tests only: nothing to train on",)


def test_a_missing_folder_is_named_as_the_archive_spells_it(tmp_path):
    (tmp_path / "SenseReID" / "test_gallery").mkdir(parents=True)
    with pytest.raises(DataError, match=r"SenseReID lacks test_probe; it holds test_gallery"):
        sensereid(tmp_path)
