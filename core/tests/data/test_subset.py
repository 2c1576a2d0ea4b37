from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reid_core.data.manifest import Manifest, no_cameras
from reid_core.data.subset import subset
from reid_core.errors import DataError


def grid(identities: int = 12, cameras: int = 3, shots: int = 6) -> Manifest:
    """Return a set with half of the identities to train on; each camera's first is a query."""
    rows = [
        (pid, camera, shot)
        for pid in range(identities)
        for camera in range(cameras)
        for shot in range(shots)
    ]
    splits = [
        "train" if pid < identities // 2 else ("query" if shot == 0 else "gallery")
        for pid, _, shot in rows
    ]
    return Manifest(
        name="mine",
        root=Path("mine"),
        paths=np.array([f"{pid}/{camera}_{shot}.jpg" for pid, camera, shot in rows]),
        pids=np.array([pid for pid, _, _ in rows]),
        camids=np.array([camera for _, camera, _ in rows]),
        splits=np.array(splits),
        columns={"shot": np.array([shot for _, _, shot in rows])},
    )


def valid_queries(manifest: Manifest) -> list[bool]:
    query, gallery = manifest.select("query"), manifest.select("gallery")
    return [
        any(
            pid == other and (camera != seen or not manifest.has_cameras)
            for other, seen in zip(gallery.pids, gallery.camids, strict=True)
        )
        for pid, camera in zip(query.pids, query.camids, strict=True)
    ]


def test_the_part_has_the_size_that_was_asked_for() -> None:
    part = subset(grid(), identities=4, images=6)
    counts = {split: tuple(part.count(split)) for split in ("train", "query", "gallery")}
    assert counts == {"train": (24, 4), "query": (12, 4), "gallery": (24, 4)}
    assert part.columns["shot"].shape == (60,)


def test_cameras_of_an_identity_take_turns() -> None:
    train = subset(grid(), identities=3, images=6).select("train")
    for pid in train.identities.tolist():
        cameras, counts = np.unique(train.camids[train.pids == pid], return_counts=True)
        assert (cameras.tolist(), counts.tolist()) == ([0, 1, 2], [2, 2, 2])


@pytest.mark.parametrize("images", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_every_query_keeps_a_match(images: int, seed: int) -> None:
    whole = grid()
    lonely = whole.splits == "query"
    # One identity has its queries in the camera of its gallery alone.
    camids = np.where((whole.pids == 7), 0, whole.camids)
    part = subset(replace(whole, camids=camids), identities=6, images=images, seed=seed)
    assert lonely.any()
    found = valid_queries(part)
    assert found
    assert all(found)
    assert 7 not in part.select("query").pids
    assert 7 not in part.select("gallery").pids


def test_sets_without_cameras_keep_any_match() -> None:
    whole = grid()
    whole = replace(whole, camids=no_cameras(len(whole)), has_cameras=False)
    part = subset(whole, identities=2, images=2)
    assert tuple(part.count("query")) == (4, 2)
    assert all(valid_queries(part))


def test_the_order_of_the_rows_changes_nothing_and_the_seed_does() -> None:
    whole = grid()
    shuffled = whole.take(np.random.default_rng(0).permutation(len(whole)))
    parts = [
        subset(one, identities=3, images=4, seed=seed).paths.tolist()
        for one, seed in ((whole, 0), (shuffled, 0), (whole, 1))
    ]
    assert parts[0] == parts[1]
    assert parts[0] != parts[2]


def test_data_without_a_test_gives_training_images() -> None:
    part = subset(grid().select("train"), identities=2, images=3)
    assert tuple(part.count("train")) == (6, 2)
    assert len(part) == 6


def test_some_distractors_stay() -> None:
    whole = grid()
    pids = np.where(whole.pids == 11, 0, whole.pids)
    gallery_only = np.flatnonzero(~((pids == 0) & (whole.splits == "query")))
    whole = replace(whole, pids=pids, distractors=(0,)).take(gallery_only)
    part = subset(whole, identities=3, images=2)
    nobody = part.splits[part.pids == 0]
    assert nobody.tolist() == ["gallery"] * 3


def test_a_test_without_any_match_is_refused() -> None:
    whole = grid()
    with pytest.raises(DataError) as caught:
        subset(replace(whole, camids=np.zeros_like(whole.camids)), identities=3, images=2)
    assert str(caught.value) == (
        "data set mine: no query has a match, so no part of it can be tested; 'reid-data check' "
        "says why, 'reid-data split' cuts it anew"
    )
