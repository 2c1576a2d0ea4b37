import pytest

from reid_core.errors import DataError
from reid_plugin_datasets.msmt17 import msmt17
from reid_plugin_datasets.testing import write_msmt17


@pytest.mark.parametrize("version", ["V1", "V2"])
def test_lists_become_rows_in_their_order(tmp_path, version):
    manifest = msmt17(write_msmt17(tmp_path, version), version=version)
    assert manifest.splits.tolist() == ["train"] * 4 + ["query"] * 2 + ["gallery"] * 3
    assert manifest.camids.tolist() == [1, 5, 15, 3, 1, 2, 2, 1, 3]
    # The three training identities are 0 to 2, those of the test follow.
    assert manifest.pids.tolist() == [0, 0, 1, 2, 3, 4, 3, 4, 4]
    assert all((manifest.root / path).is_file() for path in manifest.paths)


def test_validation_can_be_left_out(tmp_path):
    manifest = msmt17(write_msmt17(tmp_path), validation="out")
    assert manifest.select("train").pids.tolist() == [0, 0, 1]


def test_the_folder_itself_may_be_named(tmp_path):
    write_msmt17(tmp_path)
    assert len(msmt17(tmp_path / "MSMT17_V1")) == 9


def test_what_is_missing_is_named(tmp_path):
    write_msmt17(tmp_path)
    (tmp_path / "MSMT17_V1" / "list_query.txt").unlink()
    with pytest.raises(DataError, match=r"MSMT17_V1 lacks list_query.txt; it holds list_gallery"):
        msmt17(tmp_path)
    with pytest.raises(DataError, match=r"no folder .*nowhere.*nearest that exists"):
        msmt17(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0000/0000_000.jpg 0\n", "third part is the camera"),
        ("0000/0000_000_01_a.jpg zero\n", "line 1: .* is not an image and a number"),
        ("0000/0000_000_01_a.jpg\n", "line 1: .* is not an image and a number"),
        ("", "holds no line"),
    ],
)
def test_a_line_that_is_none_is_refused(tmp_path, line, message):
    write_msmt17(tmp_path)
    (tmp_path / "MSMT17_V1" / "list_train.txt").write_text(line)
    with pytest.raises(DataError, match=message):
        msmt17(tmp_path)


def test_another_version_is_refused(tmp_path):
    with pytest.raises(DataError, match="version is 'V3'; expected V1 or V2"):
        msmt17(tmp_path, version="V3")
