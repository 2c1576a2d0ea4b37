"""B003 identities of training and test, extraction of the images, and both protocols."""

import numpy as np
import pytest
import torch
from PIL import Image

from reid_core.data.manifest import Count
from reid_core.errors import ConfigError, DataError
from reid_core.evaluation import Embeddings, evaluate_retrieval
from reid_core.evaluation.protocols.single_shot import cuhk03 as single_shot
from reid_plugin_datasets import cuhk03_images
from reid_plugin_datasets.cuhk03 import cuhk03
from reid_plugin_datasets.testing.cuhk03 import names_of, write_cuhk03, write_cuhk03_np

pytest.importorskip("scipy")
pytest.importorskip("h5py")


@pytest.fixture
def release(tmp_path):
    return write_cuhk03(tmp_path) / "cuhk03"


def rows(manifest, split):
    part = manifest.select(split)
    names = [path.rpartition("/")[2] for path in part.paths.tolist()]
    return list(zip(names, part.pids.tolist(), part.camids.tolist(), strict=True))


def test_the_new_protocol_takes_the_rows_of_its_file(release):
    manifest = cuhk03(release.parent)
    assert rows(manifest, "query") == [("1_002_1_01.png", 1002, 1), ("2_001_1_01.png", 2001, 3)]
    tested = [(name, 1002) for name in names_of(1, 2)] + [(name, 2001) for name in names_of(2, 1)]
    gallery = [(name, pid) for name, pid, _ in rows(manifest, "gallery")]
    assert gallery == [one for one in tested if one[0] not in ("1_002_1_01.png", "2_001_1_01.png")]
    # View 1 of pair 2 is camera 3, view 2 is camera 4.
    assert {camid for _, pid, camid in rows(manifest, "gallery") if pid == 2001} == {3, 4}
    assert {pid for _, pid, _ in rows(manifest, "train")} == {1001, 1003, 2002}
    assert manifest.name == "cuhk03_labeled"


def test_b003_training_and_test_share_no_identity_so_that_label_spaces_add_up(release, tmp_path):
    (tmp_path / "np").mkdir()
    for manifest in (cuhk03(release), cuhk03(write_cuhk03_np(tmp_path / "np"))):
        counts = [manifest.count(split).identities for split in ("train", "gallery")]
        assert sum(counts) == len(manifest.identities)
    expected = cuhk03(release).expected
    assert expected["train"].identities + expected["gallery"].identities == 1467


@pytest.mark.parametrize(
    ("images", "train", "gallery", "red"),
    [("labeled", 7368, 5328, 101), ("detected", 7365, 5332, 102)],
)
def test_images_are_those_of_the_release_upright_and_in_their_colours(
    images, train, gallery, red, release
):
    manifest = cuhk03(release, images=images)
    pixels = np.asarray(Image.open(release / f"images_{images}" / "1_001_2_07.png"))
    assert pixels.shape == (8, 4, 3)
    assert (pixels[..., 0] == red).all()
    # The writer marks the upper edge with ten times the view, plus the number.
    assert (pixels[0, :, 1] == 11).all()
    assert not pixels[1:, :, 1].any()
    assert manifest.expected["train"] == Count(train, 767)
    assert manifest.expected["gallery"] == Count(gallery, 700)
    assert manifest.notes == (f"{images} boxes, new protocol",)
    assert not (release / f"images_{'detected' if images == 'labeled' else 'labeled'}").exists()


def test_images_are_extracted_once_and_then_stand_for_the_release(release):
    first = cuhk03(release)
    (release / "cuhk03_release" / "cuhk-03.mat").unlink()
    again = cuhk03(release)
    assert again.paths.tolist() == first.paths.tolist()


def test_an_interrupted_extraction_leaves_nothing(release, monkeypatch):
    write = cuhk03_images._write
    written = []

    def broken(*arguments):
        if len(written) == 2:
            raise OSError("disk full")
        written.append(arguments)
        write(*arguments)

    monkeypatch.setattr(cuhk03_images, "_write", broken)
    with pytest.raises(DataError, match=r"cannot extract the images .*disk full; copy the release"):
        cuhk03(release)
    assert sorted(path.name for path in release.iterdir()) == [
        "cuhk03_new_protocol_config_detected.mat",
        "cuhk03_new_protocol_config_labeled.mat",
        "cuhk03_release",
    ]
    monkeypatch.undo()
    assert len(cuhk03(release)) == 22


def test_of_two_processes_that_extract_at_once_the_later_one_gives_way(release, monkeypatch):
    people = cuhk03_images._people

    def while_another_one_finishes(*arguments):
        monkeypatch.undo()
        assert cuhk03_images.ensure_images(
            release / "cuhk03_release" / "cuhk-03.mat", "labeled", release / "images_labeled"
        )
        return people(*arguments)

    monkeypatch.setattr(cuhk03_images, "_people", while_another_one_finishes)
    assert len(cuhk03(release)) == 22
    assert not list(release.rglob(".*"))


@pytest.mark.parametrize(
    ("split", "tested"), [(0, {1002, 2001}), (1, {1001, 1003}), (19, {1001, 1003})]
)
def test_the_classic_protocol_tests_whom_the_release_names(split, tested, release):
    manifest = cuhk03(release, protocol="classic", split=split, gallery="one")
    assert {pid for _, pid, _ in rows(manifest, "query")} == tested
    assert {pid for _, pid, _ in rows(manifest, "train")} == {1001, 1002, 1003, 2001, 2002} - tested
    gallery = rows(manifest, "gallery")
    assert sorted(pid for _, pid, _ in gallery) == sorted(tested)
    assert all(camid % 2 == 0 for _, _, camid in gallery)
    assert all(camid % 2 == 1 for _, _, camid in rows(manifest, "query"))
    assert manifest.name == "cuhk03_labeled_classic"
    assert manifest.notes[1].startswith(f"split {split} of 0 to 19: the 2 identities that")
    again = cuhk03(release, protocol="classic", split=split, gallery="one")
    assert again.paths.tolist() == manifest.paths.tolist()


@pytest.mark.parametrize("split", [0, 1])
def test_the_classic_gallery_is_all_images_of_the_second_view(split, release):
    manifest = cuhk03(release, protocol="classic", split=split)
    drawn = cuhk03(release, protocol="classic", split=split, gallery="one")
    tested = set(manifest.select("query").pids.tolist())
    images = sorted((release / "images_labeled").glob("*_2_*.png"))
    expected = [
        f"images_labeled/{path.name}"
        for path in images
        if int(path.name[0]) * 1000 + int(path.name[2:5]) in tested
    ]
    gallery = manifest.select("gallery").paths.tolist()
    assert sorted(gallery) == expected
    assert set(drawn.select("gallery").paths.tolist()) < set(gallery)
    assert "of which the protocol cuhk03 counts one an identity" in manifest.notes[1]


def test_the_classic_gallery_suits_the_single_shot_protocol(release):
    # Each query is nearest to an image of itself, and no match is in its camera.
    manifest = cuhk03(release, protocol="classic")
    query, gallery = (manifest.select(split) for split in ("query", "gallery"))
    people = gallery.identities
    sides = [
        Embeddings(
            torch.eye(len(people))[np.searchsorted(people, side.pids)], side.pids, side.camids
        )
        for side in (query, gallery)
    ]
    result = evaluate_retrieval(*sides, protocol=single_shot())
    assert (result.mAP, result.rank(1)) == (1.0, 1.0)
    assert result.num_candidates.tolist() == [2] * len(query)
    assert result.protocol == "cuhk03"


@pytest.mark.parametrize("images", ["labeled", "detected"])
@pytest.mark.parametrize("above", [True, False])
def test_folders_of_the_new_protocol_are_read_as_market_1501(images, above, tmp_path):
    write_cuhk03_np(tmp_path)
    manifest = cuhk03(tmp_path if above else tmp_path / "cuhk03-np", images=images)
    assert manifest.root == tmp_path / "cuhk03-np" / images
    assert manifest.pids.tolist() == [1, 1, 4, 2, 3, 2, 3]
    assert manifest.camids.tolist() == [1, 2, 1, 1, 2, 2, 1]
    assert manifest.splits.tolist() == ["train"] * 3 + ["query"] * 2 + ["gallery"] * 2
    assert manifest.name == f"cuhk03_{images}"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"images": "both"}, "images is 'both'; expected labeled or detected"),
        ({"protocol": "old"}, "protocol is 'old'; expected new or classic"),
        ({"protocol": "classic", "split": 20}, "split is 20; expected a whole number from 0 to 19"),
        ({"split": 3}, "split is 3, but the new protocol has one split only"),
        ({"gallery": "two"}, "gallery is 'two'; expected all or one"),
        ({"gallery": "one"}, "gallery is one, but the new protocol searches all images; leave it"),
    ],
)
def test_wrong_parameters_are_refused(parameters, message, release):
    with pytest.raises(ConfigError, match=message):
        cuhk03(release, **parameters)


def test_what_is_missing_is_named(release, tmp_path):
    (release / "cuhk03_new_protocol_config_detected.mat").unlink()
    with pytest.raises(DataError, match=r"lacks cuhk03_new_protocol_config_detected.mat; it holds"):
        cuhk03(release, images="detected")
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(
        DataError, match=r"lacks .*cuhk-03.mat.*; or to the one above cuhk03-np/lab"
    ):
        cuhk03(empty)
    with pytest.raises(DataError, match=r"lacks cuhk03_release/cuhk-03.mat"):
        cuhk03(empty, protocol="classic")


def test_images_that_have_vanished_are_named(release):
    cuhk03(release)
    (release / "images_labeled" / "1_003_2_06.png").unlink()
    with pytest.raises(DataError, match=r"1 of the 9 images .* missing, .*1_003_2_06.png; delete"):
        cuhk03(release)


def test_rows_beyond_the_list_are_refused(release):
    from scipy.io import loadmat, savemat

    path = release / "cuhk03_new_protocol_config_labeled.mat"
    content = {name: value for name, value in loadmat(path).items() if not name.startswith("__")}
    savemat(path, {**content, "query_idx": np.array([[0.0, 99.0]])})
    with pytest.raises(DataError, match=r"query_idx in .* holds 0 to 99; expected 1 to 22"):
        cuhk03(release)


def test_a_damaged_release_is_refused(release):
    (release / "cuhk03_release" / "cuhk-03.mat").write_bytes(b"no HDF5")
    with pytest.raises(DataError, match=r"cuhk-03.mat cannot be read: .*unpack cuhk03_release.zip"):
        cuhk03(release)


def test_another_hdf5_file_is_refused(release):
    import h5py

    with h5py.File(release / "cuhk03_release" / "cuhk-03.mat", "w") as file:
        file["other"] = [1]
    with pytest.raises(
        DataError, match=r"is not as expected \(KeyError.*with labeled, detected and"
    ):
        cuhk03(release)
    with pytest.raises(DataError, match=r"is not as expected \(KeyError"):
        cuhk03(release, protocol="classic")


@pytest.mark.parametrize(("module", "protocol"), [("h5py", "classic"), ("scipy.io", "new")])
def test_a_library_that_is_not_installed_is_named(module, protocol, release, monkeypatch):
    cuhk03(release)
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(DataError, match=r"pip install 'reid-plugin-datasets\[mat\]'"):
        cuhk03(release, protocol=protocol)
