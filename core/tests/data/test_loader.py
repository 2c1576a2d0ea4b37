"""Batch i of epoch e is the same with any number of workers, and after any interruption."""

import gc
import logging
import multiprocessing
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.multiprocessing

from reid_core.data import loader as loader_module
from reid_core.data.image_dataset import Collate, ImageDataset
from reid_core.data.loader import Normalize, TestLoader, TrainLoader, usable_workers
from reid_core.data.samplers.identity import IdentitySampler
from reid_core.data.transforms.pad_crop import PadCrop
from reid_core.data.transforms.random_erasing import RandomErasing
from reid_core.data.transforms.random_flip import RandomFlip
from reid_core.errors import DataError, PluginError

CPU = torch.device("cpu")
SIZE = (16, 12)
NORMALIZE = Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


def train_loader(manifest, *, workers=0, seed=0, sampler=None, batch_transforms=None, **keywords):
    labels = manifest.pids
    dataset = ImageDataset(
        manifest,
        image_size=SIZE,
        transforms=[RandomFlip(), PadCrop(padding=4)],
        labels=labels,
        **keywords,
    )
    return TrainLoader(
        dataset=dataset,
        collate=Collate(labels, manifest.camids),
        sampler=sampler or IdentitySampler(labels=labels, seed=seed, identities=4, instances=2),
        normalize=NORMALIZE,
        batch_transforms=[RandomErasing()] if batch_transforms is None else batch_transforms,
        device=CPU,
        seed=seed,
        workers=workers,
    )


def tensors(batch):
    return [batch.images, batch.pids, batch.camids, batch.index, *batch.columns.values()]


def assert_same(first, second):
    assert len(first) == len(second)
    for ours, theirs in zip(first, second, strict=True):
        assert all(map(torch.equal, tensors(ours), tensors(theirs)))


@pytest.fixture(scope="module")
def two_epochs(eight_by_four):
    """What a loader without workers makes."""
    loader = train_loader(eight_by_four)
    return [list(loader.epoch(epoch)) for epoch in range(2)]


def test_an_epoch_has_the_length_that_was_said(eight_by_four, two_epochs):
    assert len(train_loader(eight_by_four)) == len(two_epochs[0]) == len(two_epochs[1]) == 4


def test_batches_are_what_sampler_and_manifest_say(eight_by_four, two_epochs):
    sampler = IdentitySampler(labels=eight_by_four.pids, seed=0, identities=4, instances=2)
    for epoch, batches in enumerate(two_epochs):
        for rows, batch in zip(sampler.batches(epoch), batches, strict=True):
            assert batch.index.tolist() == rows.tolist()
            assert batch.pids.tolist() == eight_by_four.pids[rows].tolist()
            assert batch.camids.tolist() == eight_by_four.camids[rows].tolist()
            assert batch.images.shape == (8, 3, *SIZE)
            assert batch.images.dtype == torch.float32


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_make_the_same_batches_bit_by_bit(workers, eight_by_four, two_epochs):
    loader = train_loader(eight_by_four, workers=workers)
    for epoch in (0, 1, 0):  # the workers stay between epochs
        assert_same(list(loader.epoch(epoch)), two_epochs[epoch])


@pytest.mark.parametrize("workers", [0, 2])
def test_starting_later_gives_the_rest_of_the_epoch(workers, eight_by_four, two_epochs):
    loader = train_loader(eight_by_four, workers=workers)
    for start in (3, 1):
        assert_same(list(loader.epoch(1, start)), two_epochs[1][start:])
    assert_same(list(loader.epoch(0)), two_epochs[0])


@pytest.mark.parametrize("workers", [0, 2])
def test_an_epoch_that_was_left_early_spoils_nothing(workers, eight_by_four, two_epochs):
    loader = train_loader(eight_by_four, workers=workers)
    for _ in range(2):
        left = loader.epoch(0)
        next(left)
        left.close()
        assert_same(list(loader.epoch(1)), two_epochs[1])


def test_batches_do_not_depend_on_epochs_before(eight_by_four, two_epochs):
    assert_same(list(train_loader(eight_by_four).epoch(1)), two_epochs[1])


def test_epochs_and_seeds_differ(eight_by_four, two_epochs):
    other_seed = list(train_loader(eight_by_four, seed=1).epoch(0))
    for other in (two_epochs[1], other_seed):
        assert not torch.equal(two_epochs[0][0].images, other[0].images)


@pytest.fixture
def start_method(request):
    former = torch.multiprocessing.get_start_method()
    torch.multiprocessing.set_start_method(request.param, force=True)
    yield request.param
    torch.multiprocessing.set_start_method(former, force=True)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("start_method", ["fork", "spawn"], indirect=True)
def test_workers_can_be_started_in_any_way(start_method, eight_by_four, two_epochs):
    loader = train_loader(eight_by_four, workers=1)
    for epoch in (0, 1):
        assert_same(list(loader.epoch(epoch)), two_epochs[epoch])


@pytest.mark.parametrize("workers", [0, 1])
def test_global_random_state_is_left_alone(workers, eight_by_four, global_random_state):
    before = global_random_state()
    loader = train_loader(eight_by_four, workers=workers)
    list(loader.epoch(0))
    list(loader.epoch(1))
    list(evaluation_loader(eight_by_four, workers=workers))
    assert global_random_state() == before


def test_workers_stop_by_themselves_when_their_owner_dies_in_a_cycle(eight_by_four, monkeypatch):
    class Trainer:
        pass

    waited_in_vain = []
    join = multiprocessing.process.BaseProcess.join

    def watched_join(process, timeout=None):
        join(process, timeout)
        waited_in_vain.append(process.is_alive())

    trainer = Trainer()
    trainer.itself = trainer
    trainer.loader = train_loader(eight_by_four, workers=1)
    next(trainer.loader.epoch(0))
    monkeypatch.setattr(multiprocessing.process.BaseProcess, "join", watched_join)
    del trainer
    gc.collect()
    assert waited_in_vain
    assert not any(waited_in_vain)


class OneImage:
    """The same row sixteen times."""

    def __len__(self):
        return 1

    def batches(self, epoch):
        yield np.zeros(16, dtype=np.int64)

    def summary(self):
        return "one image"


@pytest.mark.parametrize("workers", [0, 2])
def test_one_image_is_augmented_otherwise_each_time(workers, eight_by_four):
    erasing = RandomErasing(probability=1.0)
    loader = train_loader(
        eight_by_four, workers=workers, sampler=OneImage(), batch_transforms=[erasing]
    )
    images = [
        image for epoch in range(2) for batch in loader.epoch(epoch) for image in batch.images
    ]
    assert len({tuple(image.flatten().tolist()) for image in images}) == 32


def test_a_repeated_image_of_a_short_identity_is_augmented_otherwise_each_time(make_images):
    manifest = make_images([0, *[1] * 5, *[2] * 5])
    sampler = IdentitySampler(labels=manifest.pids, seed=0, identities=2, instances=4)
    loader = train_loader(manifest, sampler=sampler, batch_transforms=[])
    repeated = [
        batch.images[batch.pids == 0]
        for epoch in range(4)
        for batch in loader.epoch(epoch)
        if (batch.pids == 0).any()
    ]
    assert repeated, "identity 0 was never drawn"
    for images in repeated:
        assert len(images) == 4
        assert len({tuple(image.flatten().tolist()) for image in images}) > 1


def test_batch_transforms_run_in_order_on_normalised_images(eight_by_four):
    class Record:
        def __init__(self, add):
            self.add = add

        def __call__(self, images, rng):
            return images * 2 + self.add

    plain = list(train_loader(eight_by_four, batch_transforms=[]).epoch(0))
    changed = list(train_loader(eight_by_four, batch_transforms=[Record(1), Record(5)]).epoch(0))
    for before, after in zip(plain, changed, strict=True):
        assert torch.equal(after.images, (before.images * 2 + 1) * 2 + 5)


def test_batch_transforms_draw_otherwise_for_each_seed_epoch_and_batch(eight_by_four):
    class Draw:
        def __init__(self):
            self.drawn = []

        def __call__(self, images, rng):
            self.drawn.append(rng.random())
            return images

    first, again, other_seed = Draw(), Draw(), Draw()
    for draw, seed in ((first, 0), (again, 0), (other_seed, 1)):
        loader = train_loader(eight_by_four, seed=seed, batch_transforms=[draw])
        for epoch in range(2):
            list(loader.epoch(epoch))
    assert len(first.drawn) == 8
    assert again.drawn == first.drawn
    assert len({*first.drawn, *other_seed.drawn}) == 16


@pytest.mark.timeout(60)
@pytest.mark.parametrize("workers", [0, 2])
def test_a_broken_image_ends_the_epoch_with_its_name(workers, make_images):
    manifest = make_images([pid for pid in range(4) for _ in range(4)])
    (manifest.root / manifest.paths[5]).write_bytes(b"no image")
    loader = train_loader(manifest, workers=workers)
    where = "worker [01]" if workers else ""
    with pytest.raises(DataError, match=rf"005\.png is broken: .*\(row 5.*{where}.*skip") as caught:
        list(loader.epoch(0))
    assert "Traceback" not in str(caught.value)
    with pytest.raises(DataError, match=r"005\.png"):  # the workers are still there to say it again
        list(loader.epoch(1))


@pytest.mark.timeout(60)
@pytest.mark.parametrize("workers", [0, 2])
def test_skipped_images_keep_the_batches_whole_and_are_listed_once(workers, make_images, caplog):
    manifest = make_images([pid for pid in range(4) for _ in range(4)])
    broken = [str(manifest.root / manifest.paths[row]) for row in (5, 10)]
    for path in broken:
        Path(path).write_bytes(b"")
    loader = train_loader(manifest, workers=workers, broken_images="skip")
    caplog.set_level(logging.WARNING, logger="reid_core")
    for epoch in range(3):
        batches = list(loader.epoch(epoch))
        assert len(batches) == 2
        for batch in batches:
            assert batch.images.shape == (8, 3, *SIZE)
            pids, counts = batch.pids.unique(return_counts=True)
            assert len(pids) == 4
            assert counts.tolist() == [2] * 4
            requested = batch.columns["requested"]
            assert torch.equal(torch.from_numpy(manifest.pids)[requested], batch.pids)
            assert not {5, 10} & set(batch.index.tolist())
            assert batch.columns["is_valid"].all()
    assert sorted(image.path for image in loader.broken) == sorted(broken)
    warned = [record.getMessage() for record in caplog.records if "replaced" in record.message]
    assert sorted(warned) == [
        f"broken image replaced by another of its identity: {path} (is empty (0 bytes))"
        for path in sorted(broken)
    ]


def test_a_sampler_that_breaks_its_promise_ends_the_epoch(eight_by_four):
    class Single(OneImage):
        def batches(self, epoch):
            yield 3

    with pytest.raises(PluginError, match=r"sampler Single of .* whole batches, not single rows"):
        list(train_loader(eight_by_four, sampler=Single()).epoch(0))


def slow_normalize(images, mean, std):
    result = torch.empty(images.shape)
    for b, c, y, x in np.ndindex(*images.shape):
        result[b, c, y, x] = (float(images[b, c, y, x]) / 255 - mean[c]) / std[c]
    return result


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_normalisation_equals_the_formula_and_keeps_its_input(dtype):
    images = torch.randint(0, 256, (2, 3, 5, 4), generator=torch.manual_seed(0)).to(dtype)
    before = images.clone()
    normal = NORMALIZE(images)
    expected = slow_normalize(images, NORMALIZE.mean, NORMALIZE.std)
    assert normal.dtype == torch.float32
    assert torch.allclose(normal, expected, rtol=0, atol=1e-6)
    assert torch.equal(images, before)


def test_normalisation_knows_the_channels_apart():
    white = Normalize((0.0, 0.5, 1.0), (1.0, 0.5, 0.25))(torch.full((1, 3, 1, 1), 255.0))
    assert white.flatten().tolist() == [1.0, 1.0, 0.0]


def test_loaders_can_be_sent_to_another_process(eight_by_four, two_epochs):
    copy = pickle.loads(pickle.dumps(train_loader(eight_by_four)))
    assert_same(list(copy.epoch(0)), two_epochs[0])


def evaluation_loader(manifest, *, batch_size=32, workers=0, **keywords):
    return TestLoader(
        dataset=ImageDataset(manifest, image_size=SIZE, **keywords),
        collate=Collate(manifest.pids, manifest.camids),
        batch_size=batch_size,
        normalize=NORMALIZE,
        device=CPU,
        workers=workers,
    )


# B037: in evaluation.
@pytest.mark.parametrize("workers", [0, 2])
def test_every_test_image_comes_once_in_order_and_a_last_batch_of_one_works(workers, make_images):
    manifest = make_images(list(range(33)))
    loader = evaluation_loader(manifest, workers=workers)
    assert len(loader) == 2
    for _ in range(2):
        batches = list(loader)
        assert [len(batch) for batch in batches] == [32, 1]
        assert torch.cat([batch.index for batch in batches]).tolist() == list(range(33))
        assert torch.cat([batch.pids for batch in batches]).tolist() == manifest.pids.tolist()
        assert torch.cat([batch.images for batch in batches]).shape == (33, 3, *SIZE)
        assert all(batch.columns["is_valid"].all() for batch in batches)


def test_batch_sizes_and_workers_change_no_embedding_input(make_images):
    manifest = make_images(list(range(7)))
    whole = torch.cat([batch.images for batch in evaluation_loader(manifest)])
    for size, workers in ((1, 0), (3, 1), (7, 0)):
        batches = evaluation_loader(manifest, batch_size=size, workers=workers)
        assert torch.equal(torch.cat([batch.images for batch in batches]), whole)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("workers", [0, 1])
def test_broken_test_images_are_marked_or_end_the_evaluation(workers, make_images):
    manifest = make_images([0, 0, 1, 1])
    (manifest.root / manifest.paths[1]).write_bytes(b"")
    with pytest.raises(DataError, match=r"001\.png is empty.*row 1"):
        list(evaluation_loader(manifest, workers=workers))
    (batch,) = evaluation_loader(manifest, workers=workers, broken_images="skip")
    assert batch.columns["is_valid"].tolist() == [True, False, True, True]
    assert len(batch) == 4


def test_a_test_set_of_no_rows_has_no_batches(eight_by_four):
    empty = replace(eight_by_four.take(np.array([], dtype=np.intp)), name="empty")
    assert list(evaluation_loader(empty)) == []


def test_more_workers_than_cores_are_lowered_with_a_note(monkeypatch, caplog):
    monkeypatch.setattr(loader_module, "_usable_cores", lambda: 3)
    caplog.set_level(logging.INFO, logger="reid_core")
    assert [usable_workers(n) for n in (0, 2, 3)] == [0, 2, 3]
    assert caplog.messages == []
    assert usable_workers(16) == 3
    assert caplog.messages == ["data.workers 16 lowered to the 3 cores that can be used"]
