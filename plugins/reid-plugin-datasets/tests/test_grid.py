import pytest

from reid_core.data.manifest import Count
from reid_core.errors import DataError
from reid_plugin_datasets.grid import grid
from reid_plugin_datasets.testing import write_image
from reid_plugin_datasets.testing.person import write_grid


def trained(manifest):
    return sorted(set(manifest.select("train").pids.tolist()))


def test_strangers_are_in_the_gallery_and_never_trained_on(tmp_path):
    manifest = grid(write_grid(tmp_path))
    assert manifest.count("train") == Count(8, 4)
    assert manifest.count("query") == Count(4, 4)
    assert manifest.count("gallery") == Count(7, 5)
    assert manifest.distractors == (0,)
    assert manifest.splits[manifest.pids == 0].tolist() == ["gallery"] * 3
    assert manifest.camids.tolist()[:4] == [2, 3, 4, 1]
    assert manifest.notes[1:] == ("3 strangers (identity 0) in the gallery",)


def test_a_stranger_is_not_searched_for(tmp_path):
    folder = write_grid(tmp_path, 9) / "underground_reid"
    write_image(folder / "probe" / "0000_1_25004_107_32_106_221.jpeg")
    for split in range(10):
        manifest = grid(tmp_path, split=split)
        assert 0 not in manifest.select("query").pids.tolist()
        assert (manifest.count("train").identities, 0 in trained(manifest)) == (4, False)
        assert manifest.notes[2] == "1 strangers in probe left out"


def test_without_the_published_partitions_the_split_is_drawn_and_says_so(tmp_path):
    write_grid(tmp_path)
    assert "drawn here, since there is no features_and_partitions.mat" in grid(tmp_path).notes[0]
    assert len({tuple(trained(grid(tmp_path, split=n))) for n in range(10)}) > 5


@pytest.mark.parametrize(("split", "expected"), [(0, [1, 2, 3, 4]), (2, [3, 4, 5, 6])])
def test_the_published_partitions_are_used_where_they_are(split, expected, tmp_path):
    pytest.importorskip("scipy")
    manifest = grid(write_grid(tmp_path, with_partitions=True), split=split)
    assert trained(manifest) == expected
    assert f"split {split} of 0 to 9: partition of features_and" in manifest.notes[0]


def test_a_file_of_other_partitions_is_refused(tmp_path):
    savemat = pytest.importorskip("scipy.io").savemat
    path = write_grid(tmp_path) / "underground_reid" / "features_and_partitions.mat"
    savemat(path, {"trainIdxAll": [[1.0, 2.0]]})
    with pytest.raises(DataError, match=r"does not hold ten partitions in trainIdxAll"):
        grid(tmp_path)
    savemat(path, {"other": 1})
    with pytest.raises(DataError, match=r"does not hold trainIdxAll; it holds other"):
        grid(tmp_path)


def test_partitions_of_other_people_are_refused(tmp_path):
    pytest.importorskip("scipy")
    write_grid(tmp_path, 4, with_partitions=True)
    for path in sorted((tmp_path / "underground_reid" / "probe").iterdir()):
        path.rename(path.with_name(path.name.replace("000", "900", 1)))
    with pytest.raises(
        DataError, match=r"partition 0 of .* trains on 0 of the 4 people in .*probe"
    ):
        grid(tmp_path)
