"""A part of a test set has a query with a valid match, whatever the protocol says of it."""

import numpy as np
import pytest
import torch

from reid_core.config import Config
from reid_core.data.manifest import Manifest
from reid_core.data.query_gallery import TestSet
from reid_core.distributed.processes import ALONE
from reid_core.engine.evaluation.evaluator import Evaluator
from reid_core.engine.evaluation.small_set import small_set

CPU = torch.device("cpu")


def evaluator(pids, camids, splits, *, batch_size, protocol="market1501"):
    config = Config.model_validate(
        {"evaluate": {"batch_size": batch_size, "protocol": {"name": protocol}}}
    )
    manifest = Manifest(
        name="mine",
        root=".",
        paths=np.array([f"{row:04d}.jpg" for row in range(len(pids))]),
        pids=np.array(pids),
        camids=np.array(camids),
        splits=np.array(splits),
    )
    pools = protocol == "leave_one_out"
    return Evaluator(TestSet.of(manifest, ("a caveat",), pools=pools), config, CPU), config


def many(identities, images=5):
    """Identities with one query of camera 0, and gallery images of cameras 0, 1, 2 in turn."""
    rows = [
        (pid, image % 3, "gallery" if image else "query")
        for pid in range(1, identities + 1)
        for image in range(images)
    ]
    return [list(column) for column in zip(*rows, strict=True)]


def test_a_part_is_about_one_batch_of_whole_identities():
    whole, config = evaluator(*many(50), batch_size=20)
    small = small_set(whole, config, ALONE)
    rows = small.evaluator.test_set.rows
    assert (small.num_images, small.num_whole) == (20, 250)
    assert rows.identities.tolist() == [1, 2, 3, 4]
    assert small.evaluator.test_set.num_query == 4
    assert set(rows.splits[:4]) == {"query"}
    assert small.evaluator.name == "mine"
    assert small.evaluator.caveats == ("a caveat",)


def test_a_small_set_is_taken_whole():
    whole, config = evaluator(*many(3), batch_size=128)
    small = small_set(whole, config, ALONE)
    assert small.num_images == small.num_whole == 15


def test_it_grows_until_the_protocol_finds_a_match():
    # All but the last identity are seen by one camera alone.
    pids, camids, splits = many(60)
    camids = [0 if pid < 60 else camera for pid, camera in zip(pids, camids, strict=True)]
    whole, config = evaluator(pids, camids, splits, batch_size=10)
    small = small_set(whole, config, ALONE)
    assert small.num_images == small.num_whole == 300


def test_distractors_and_identities_without_a_gallery_are_passed_over():
    pids, camids, splits = many(10)
    pids += [0] * 30 + [-1] * 30 + [99] * 5
    camids += [1] * 65
    splits += ["gallery"] * 60 + ["query"] * 5
    whole, config = evaluator(pids, camids, splits, batch_size=16)
    small = small_set(whole, config, ALONE)
    assert small.evaluator.test_set.rows.identities.tolist() == [1, 2, 3, 4]


def test_of_one_pool_every_image_is_a_query():
    pids, camids, _ = many(20)
    whole, config = evaluator(
        pids, camids, ["train"] * 100, batch_size=10, protocol="leave_one_out"
    )
    small = small_set(whole, config, ALONE)
    assert small.num_images == small.evaluator.test_set.num_query == 10


@pytest.mark.parametrize("size", [8, 9])
def test_images_are_of_all_cameras_first(size):
    whole, config = evaluator(*many(30, images=13), batch_size=size)
    rows = small_set(whole, config, ALONE).evaluator.test_set.rows
    first = rows.camids[(rows.pids == 1) & (rows.splits == "gallery")]
    assert len(first) == 6
    assert set(first.tolist()) == {0, 1, 2}
