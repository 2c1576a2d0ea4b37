import pytest

from reid_core.errors import ConfigError, DataError
from reid_plugin_datasets.ltcc import ltcc
from reid_plugin_datasets.testing.modalities import write_ltcc


@pytest.fixture
def root(tmp_path):
    return write_ltcc(tmp_path)


def test_names_say_identity_clothes_camera_and_frame(root):
    manifest = ltcc(root)
    assert manifest.splits.tolist() == ["train"] * 3 + ["query"] * 2 + ["gallery"] * 3
    assert manifest.pids.tolist() == [0, 0, 3, 4, 5, 4, 4, 5]
    assert manifest.columns["clothids"].tolist() == [1, 2, 301, 401, 501, 401, 402, 501]
    assert manifest.camids.tolist() == [11, 2, 1, 1, 3, 4, 2, 1]
    assert manifest.columns["frames"].tolist() == [1, 2, 3, 4, 5, 7, 6, 8]


def test_identity_0_is_a_person(root):
    manifest = ltcc(root)
    assert manifest.distractors == ()
    assert 0 in manifest.select("train").identities


@pytest.mark.parametrize(
    ("identities", "train", "test"), [("cloth_changing", 0, 4), ("cloth_consistent", 3, 5)]
)
def test_lists_say_who_changes_clothes(root, identities, train, test):
    manifest = ltcc(root, identities=identities)
    assert manifest.select("train").identities.tolist() == [train]
    assert manifest.select("query").identities.tolist() == [test]
    assert manifest.select("gallery").identities.tolist() == [test]
    assert manifest.expected == {}


def test_everybody_needs_no_list(root):
    for path in (root / "LTCC_ReID" / "info").iterdir():
        path.unlink()
    assert len(ltcc(root)) == 8
    with pytest.raises(DataError, match=r"cloth-change_id_train.txt cannot be read"):
        ltcc(root, identities="cloth_changing")


def test_lists_that_name_nobody_here_are_refused(root):
    for path in (root / "LTCC_ReID" / "info").iterdir():
        path.write_text("77\n")
    with pytest.raises(DataError, match=r"no image in .*LTCC_ReID is of an identity that the"):
        ltcc(root, identities="cloth_changing")


def test_published_counts_are_those_of_everybody(root):
    expected = ltcc(root).expected
    assert sum(count.images for count in expected.values()) == 17_119


def test_names_of_another_set_are_shown(root):
    folder = root / "LTCC_ReID" / "query"
    for path in sorted(folder.iterdir()):
        path.rename(folder / f"{path.name[:3]}_c1s1_000001_00.png")
    with pytest.raises(DataError, match=r"query/004_c1s1_000001_00.png.*000_1_c11_015833.png"):
        ltcc(root)


def test_another_choice_of_identities_is_refused(root):
    with pytest.raises(ConfigError, match=r"identities is 'some'; expected all, cloth_changing or"):
        ltcc(root, identities="some")
