"""The data set ``packed``: the same batches as from files, and errors that say what to do."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch

pytest.importorskip("lmdb")

from reid_core.config import Config
from reid_core.data.datasets.market1501 import market1501
from reid_core.data.datasets.packed import packed
from reid_core.data.labels import LabelMap
from reid_core.data.packing import Recoding, pack
from reid_core.data.query_gallery import TestSet
from reid_core.data.train_data import build_train_loader
from reid_core.engine.evaluation.evaluator import Evaluator
from reid_core.errors import DataError

CPU = torch.device("cpu")


@pytest.fixture
def files(tiny_market):
    return market1501(tiny_market)


@pytest.fixture
def folder(files, tmp_path):
    pack(files, tmp_path / "packed", Recoding())
    return tmp_path / "packed"


def config(**data):
    defaults = {
        "image_size": [24, 16],
        "batch": {"sampler": "identity", "identities": 3, "instances": 4},
        "transforms": [{"name": "random_flip"}, {"name": "pad_crop"}],
    }
    return Config.model_validate({"seed": 3, "data": {**defaults, **data}})


def batches(manifest, **data):
    rows = [manifest.select("train")]
    loader = build_train_loader(config(**data), rows, LabelMap.of(rows), device=CPU)
    return list(loader.epoch(0))


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_are_those_of_the_files(workers, files, folder):
    expected = batches(files, workers=0)
    # Read in this process first: workers that are forked must open the store anew.
    manifest = packed(folder)
    manifest.images.read(str(manifest.paths[0]))
    found = batches(manifest, workers=workers)
    assert len(found) == len(expected) > 1
    for ours, theirs in zip(found, expected, strict=True):
        assert torch.equal(ours.images, theirs.images)
        assert torch.equal(ours.pids, theirs.pids)
        assert torch.equal(ours.camids, theirs.camids)


class Mean(torch.nn.Module):
    def embed(self, images):
        return images.mean(dim=(2, 3))


def test_results_are_those_of_the_files(files, folder):
    results = []
    for manifest in (files, packed(folder)):
        evaluator = Evaluator(TestSet.of(manifest), config(workers=0), CPU)
        retrieval = evaluator.evaluate(Mean(), lambda: None)
        results.append((retrieval.result.ap, evaluator.rankings(retrieval)))
    assert np.array_equal(results[0][0], results[1][0])
    for ours, theirs in zip(results[1][1], results[0][1], strict=True):
        assert ours["query"]["thumbnail"].startswith("data:image/jpeg;base64,")
        assert "thumbnail" not in theirs["query"]
        assert ours["query"]["path"].startswith(f"{folder}/data.mdb/query/")


def test_a_name_of_its_own_and_a_relative_root(folder, monkeypatch, tmp_path):
    monkeypatch.setenv("REID_DATASETS", str(tmp_path))
    assert packed("packed", title="mine").name == "mine"
    assert packed(folder).name == "market1501"
    monkeypatch.chdir(tmp_path)
    manifest = packed("packed")
    monkeypatch.chdir("/")
    assert manifest.images.read(str(manifest.paths[0]))


def message(root):
    with pytest.raises(DataError) as caught:
        packed(root)
    return str(caught.value)


def test_a_folder_that_is_not_there_is_named_with_the_nearest(tmp_path):
    text = message(tmp_path / "nowhere" / "x")
    assert (
        f"there is no folder {tmp_path}/nowhere/x (the nearest that exists is {tmp_path})" in text
    )
    assert "set root to a folder that 'reid-data pack' made" in text


def test_a_folder_of_something_else_is_told_apart(tiny_market):
    text = message(tiny_market)
    assert f"{tiny_market} has no data.mdb and no manifest.npz, so it is no packed set; it" in text
    assert "bounding_box_test, bounding_box_train, query" in text


@pytest.mark.parametrize("file", ["data.mdb", "manifest.npz"])
def test_a_missing_file_is_named(file, folder):
    (folder / file).unlink()
    assert f"{folder} has no {file}, so it is no packed set" in message(folder)


def test_damaged_files_are_told(folder):
    (folder / "data.mdb").write_bytes(b"x" * 10_000)
    text = message(folder)
    assert f"data set packed: the packed store {folder} is damaged: " in text
    assert "pack the data anew by 'reid-data pack'" in text
    (folder / "manifest.npz").write_bytes(b"x" * 100)
    assert f"{folder}/manifest.npz cannot be read as the manifest of a packed set" in message(
        folder
    )


def test_a_manifest_of_other_images_is_told(files, folder, tmp_path):
    pack(files.take(np.arange(5)), tmp_path / "few", Recoding())
    shutil.copy(tmp_path / "few" / "data.mdb", folder / "data.mdb")
    assert f"data.mdb holds 5 images, and manifest.npz beside it was written for {len(files)}" in (
        message(folder)
    )


def test_a_manifest_of_a_newer_version_is_told(folder):
    path = folder / "manifest.npz"
    with np.load(path) as file:
        arrays = dict(file)
    facts = {**json.loads(arrays["facts"].tobytes()), "version": 2}
    arrays["facts"] = np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8)
    with path.open("wb") as stream:
        np.savez(stream, **arrays)
    assert "it is of reid-core packed manifest version 2" in message(folder)


def test_a_row_that_the_store_lacks_names_path_and_store(folder):
    manifest = packed(folder)
    stray = replace(manifest, paths=np.array(["gone.jpg"] * len(manifest)))
    with pytest.raises(DataError) as caught:
        batches(stray, workers=0)
    assert (
        f"image {folder}/data.mdb/gone.jpg cannot be opened: the packed store {folder} has no such "
        "image (row "
    ) in str(caught.value)
