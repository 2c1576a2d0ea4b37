"""The data set as a user gets it."""

import hashlib
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from reid_core.data.datasets.synthetic import synthetic
from reid_core.data.datasets.synthetic.settings import GENERATOR_VERSION
from reid_core.data.manifest import Manifest

SMALL = {"identities": 3, "test_identities": 4, "cameras": 3, "shots": 2}

DIGEST_PROGRAM = """
import hashlib
import numpy as np
from PIL import Image
from reid_core.data.datasets.synthetic import synthetic
m = synthetic(identities=3, test_identities=4, cameras=3, shots=2)
digest = hashlib.sha256()
for path in m.paths:
    digest.update(path.encode() + np.asarray(Image.open(m.root / path)).tobytes())
print(digest.hexdigest())
"""


def pixels(manifest: Manifest) -> np.ndarray:
    """Return (N, 128, 64, 3) uint8."""
    return np.stack([np.asarray(Image.open(manifest.root / path)) for path in manifest.paths])


def digest(manifest: Manifest) -> str:
    total = hashlib.sha256()
    for path, image in zip(manifest.paths, pixels(manifest), strict=True):
        total.update(path.encode() + image.tobytes())
    return total.hexdigest()


@pytest.fixture
def small(tmp_path, monkeypatch) -> Manifest:
    monkeypatch.setenv("REID_CACHE", str(tmp_path / "cache"))
    return synthetic(**SMALL)


def test_two_caches_hold_the_same_files(tmp_path, monkeypatch):
    contents = []
    for name in ("one", "two"):
        monkeypatch.setenv("REID_CACHE", str(tmp_path / name))
        manifest = synthetic(**SMALL)
        assert manifest.root.is_relative_to(tmp_path / name)
        contents.append([(manifest.root / path).read_bytes() for path in manifest.paths])
    assert contents[0] == contents[1]


@pytest.mark.parametrize(
    ("difficulty", "expected"),
    [
        ("easy", "00063eb2864efe72d90bce8a94406982435dfeef806f93cd429efafbd75f1ade"),
        ("normal", "0948484d7b493d0a637af3eca89ff07da7be94fcf50c4e447b5effb4ea70494b"),
        ("hard", "5ca713bead4c4bf63bee30012f22e9d62ba604758439f4bbf080607ed2eff09a"),
    ],
)
def test_the_pixels_are_those_of_this_generator_version(
    tmp_path, monkeypatch, difficulty, expected
):
    """Recorded on Linux x86-64 with NumPy 2.4; every machine must find the same.

    Where a change is meant to move pixels, raise GENERATOR_VERSION and record the new digests:
    otherwise a cache drawn before the change is taken for one drawn after it.
    """
    monkeypatch.setenv("REID_CACHE", str(tmp_path))
    manifest = synthetic(difficulty=difficulty, **{**SMALL, "cameras": 8})
    assert digest(manifest) == expected
    assert GENERATOR_VERSION == 1


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_another_process_with_another_hash_seed_draws_the_same_pixels(tmp_path, small, hash_seed):
    environment = {
        **os.environ,
        "PYTHONHASHSEED": hash_seed,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "REID_CACHE": str(tmp_path / "elsewhere"),
    }
    ran = subprocess.run(
        [sys.executable, "-c", DIGEST_PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.strip() == digest(small)


def test_another_seed_gives_other_pixels(small):
    other = synthetic(seed=1, **SMALL)
    assert other.root != small.root
    assert other.paths.tolist() == small.paths.tolist()
    same = (pixels(other) == pixels(small)).all(axis=(1, 2, 3))
    assert not same.any()


def test_difficulty_changes_the_pixels(small):
    assert digest(synthetic(difficulty="hard", **SMALL)) != digest(small)


def test_no_two_pictures_are_the_same(small):
    images = pixels(small).reshape(len(small), -1)
    assert len(np.unique(images, axis=0)) == len(small)


def test_pictures_are_128_by_64_rgb(small):
    for path in small.paths:
        image = Image.open(small.root / path)
        assert (image.mode, image.size) == ("RGB", (64, 128))


def test_rows_are_named_sorted_and_numbered_like_market1501(small):
    assert small.name == "synthetic"
    assert small.paths.tolist() == sorted(small.paths.tolist())
    assert small.pids.dtype == small.camids.dtype == np.int64
    folders = {"train": "bounding_box_train", "query": "query", "gallery": "bounding_box_test"}
    for path, pid, camid, split in zip(
        small.paths, small.pids, small.camids, small.splits, strict=True
    ):
        found = re.fullmatch(r"(\w+)/(\d{4})_c(\d)s1_\d{6}_00\.png", path)
        assert found is not None
        assert (found[1], int(found[2]), int(found[3])) == (folders[split], pid, camid)


def test_every_file_in_the_folder_is_a_row(small):
    files = sorted(p.relative_to(small.root).as_posix() for p in small.root.rglob("*.png"))
    assert files == small.paths.tolist()


def test_training_and_test_share_no_identity(small):
    train = set(small.select("train").pids.tolist())
    query = set(small.select("query").pids.tolist())
    gallery = set(small.select("gallery").pids.tolist())
    assert train == {1, 2, 3}
    assert query == {4, 5, 6, 7}
    assert gallery == query | {0}


def test_cameras_count_from_one_and_each_sees_every_identity(small):
    for pid in range(1, 8):
        assert set(small.camids[small.pids == pid].tolist()) == {1, 2, 3}


def test_query_has_one_picture_of_each_identity_by_each_camera(small):
    query = small.select("query")
    pairs = list(zip(query.pids.tolist(), query.camids.tolist(), strict=True))
    assert sorted(pairs) == [(pid, camid) for pid in (4, 5, 6, 7) for camid in (1, 2, 3)]


def test_every_query_has_a_match_by_another_camera(small):
    query, gallery = small.select("query"), small.select("gallery")
    for pid, camid in zip(query.pids, query.camids, strict=True):
        assert ((gallery.pids == pid) & (gallery.camids != camid)).any()


def test_the_gallery_has_one_distractor_for_every_two_test_identities(small):
    assert (small.select("gallery").pids == 0).sum() == 2


def test_the_test_pictures_do_not_depend_on_the_number_of_training_identities(small):
    larger = synthetic(**{**SMALL, "identities": 5})
    for split in ("query", "gallery"):
        np.testing.assert_array_equal(pixels(larger.select(split)), pixels(small.select(split)))


def test_a_further_camera_leaves_the_others_as_they_were(small):
    more = synthetic(**{**SMALL, "cameras": 4}).select("train")
    old = more.take(np.flatnonzero(more.camids < 4))
    np.testing.assert_array_equal(pixels(old), pixels(small.select("train")))


def test_root_takes_the_place_of_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("REID_CACHE", str(tmp_path / "cache"))
    manifest = synthetic(root=tmp_path / "mine", **SMALL)
    assert manifest.root.parent == tmp_path / "mine"
    assert not (tmp_path / "cache").exists()


def test_a_second_call_draws_nothing(small):
    before = {path: (small.root / path).stat().st_mtime_ns for path in small.paths}
    again = synthetic(**SMALL)
    assert again.root == small.root
    assert {path: (again.root / path).stat().st_mtime_ns for path in again.paths} == before


def test_colour_alone_does_not_find_people(tmp_path, monkeypatch):
    monkeypatch.setenv("REID_CACHE", str(tmp_path))
    manifest = synthetic(identities=2, test_identities=20, cameras=4, shots=2)
    query, gallery = manifest.select("query"), manifest.select("gallery")
    # A random order has a mean average precision of about 6 % here.
    assert mean_average_precision(query, gallery, histograms) < 0.2


def histograms(images: np.ndarray) -> np.ndarray:
    """Return (N, 512) square roots of the counts of 8 x 8 x 8 colours."""
    codes = (images // 32).astype(int) @ np.array([64, 8, 1])
    return np.sqrt([np.bincount(code.ravel(), minlength=512) for code in codes])


def mean_average_precision(query: Manifest, gallery: Manifest, describe) -> float:
    """Return the mean average precision, computed the slow way."""
    similarity = describe(pixels(query)) @ describe(pixels(gallery)).T
    precisions = []
    for row, pid, camid in zip(similarity, query.pids, query.camids, strict=True):
        order = [
            index
            for index in np.argsort(-row, kind="stable")
            if gallery.pids[index] != pid or gallery.camids[index] != camid
        ]
        ranks = [rank for rank, index in enumerate(order, 1) if gallery.pids[index] == pid]
        precisions.append(np.mean([count / rank for count, rank in enumerate(ranks, 1)]))
    return float(np.mean(precisions))


def test_views_and_attributes_come_with_the_pictures(small):
    assert small.columns["viewids"].shape == (len(small),)
    assert set(small.columns["viewids"].tolist()) == {0, 1, 2, 3}
    attributes = small.columns["attributes"]
    assert attributes.shape == (len(small), 8)
    for pid in np.unique(small.pids[small.pids > 0]):
        assert len(np.unique(attributes[small.pids == pid], axis=0)) == 1
    assert 0 < attributes.mean() < 1


def test_a_larger_training_set_leaves_the_views_of_the_test_as_they_are(small):
    larger = synthetic(**{**SMALL, "identities": 5})
    of_test = small.columns["viewids"][small.splits == "query"]
    assert larger.columns["viewids"][larger.splits == "query"].tolist() == of_test.tolist()
