import pytest

from reid_core.data.manifest import Count
from reid_core.errors import ConfigError, DataError
from reid_plugin_datasets.cuhk01 import cuhk01
from reid_plugin_datasets.testing.person import write_cuhk01


def test_the_first_two_images_are_of_camera_a(tmp_path):
    manifest = cuhk01(write_cuhk01(tmp_path), test_identities=2)
    assert manifest.camids.tolist() == [1, 1, 2, 2] * 6
    assert manifest.pids.tolist() == [pid for pid in range(1, 7) for _ in range(4)]
    query, gallery = manifest.select("query"), manifest.select("gallery")
    assert set(query.camids.tolist()) == {1}
    assert set(gallery.camids.tolist()) == {2}
    assert query.pids.tolist() == gallery.pids.tolist()
    assert manifest.count("train") == Count(16, 4)


def test_the_other_camera_may_be_searched_with(tmp_path):
    manifest = cuhk01(write_cuhk01(tmp_path), test_identities=2, query="b", split=1)
    assert set(manifest.select("query").camids.tolist()) == {2}
    assert manifest.notes[1].startswith("queries: camera B")


def test_the_counts_of_both_protocols_follow_from_971_people(tmp_path):
    (tmp_path / "campus").mkdir()
    for name in (f"{pid:04d}{n:03d}.png" for pid in range(1, 488) for n in range(1, 5)):
        (tmp_path / "campus" / name).touch()
    for tested, trained in ((486, 485), (100, 871)):
        manifest = cuhk01(tmp_path, test_identities=tested)
        assert manifest.count("query") == Count(2 * tested, tested)
        assert manifest.expected["train"] == Count(4 * trained, trained)
        assert manifest.expected["gallery"] == Count(2 * tested, tested)


@pytest.mark.parametrize("tested", [0, 6, 486])
def test_somebody_is_left_to_train_on_and_to_test(tested, tmp_path):
    write_cuhk01(tmp_path)
    with pytest.raises(ConfigError, match=rf"test_identities is {tested}; expected 1 to 5, since"):
        cuhk01(tmp_path, test_identities=tested)


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(DataError, match=r"data set cuhk01: .* lacks campus; it holds nothing"):
        cuhk01(tmp_path)
