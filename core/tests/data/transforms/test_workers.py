"""The same seed gives the same images whatever the number of workers: every transform; B022."""

import numpy as np
import pytest
import torch

from reid_core.config import Config
from reid_core.config.schema import DataConfig
from reid_core.data.labels import LabelMap
from reid_core.data.samplers import EpochSampler
from reid_core.data.train_data import build_train_loader
from reid_core.plugins import registries
from reid_core.plugins.index import installed
from reid_core.plugins.registries import SAMPLERS

CPU = torch.device("cpu")
REFS = [ref for ref in installed().refs if (ref.kind, ref.dist) == ("transforms", "reid-core")]
TRANSFORMS = sorted(ref.name for ref in REFS if not ref.alias_of)
#: Acts on every image, where a transform has a probability.
ALWAYS = [{"name": name, "probability": 1.0} for name in TRANSFORMS if name != "pad_crop"]


class OneImage:
    """Sixteen times the same row in a batch."""

    def __len__(self):
        return 2

    def batches(self, epoch):
        for _ in range(2):
            yield np.zeros(16, dtype=np.int64)

    def summary(self):
        return "one image sixteen times"


@pytest.fixture
def one_image_sampler():
    SAMPLERS.register(lambda: OneImage(), name="one_image")
    assert isinstance(OneImage(), EpochSampler)
    yield "one_image"
    SAMPLERS._local.pop("one_image")


def loader(manifest, transforms, *, workers=0, seed=0, batch=None):
    data = {
        "image_size": [32, 20],
        "batch": batch or {"sampler": "random", "size": 4},
        "transforms": transforms,
        "workers": workers,
    }
    config = Config.model_validate({"seed": seed, "data": data})
    return build_train_loader(config, [manifest], LabelMap.of([manifest]), device=CPU)


def images(manifest, transforms, **keywords):
    """All images of two epochs, in order."""
    made = loader(manifest, transforms, **keywords)
    return torch.cat([batch.images for epoch in (0, 1) for batch in made.epoch(epoch)])


@pytest.fixture
def both_cores(monkeypatch):
    monkeypatch.setattr("reid_core.data.loader._usable_cores", lambda: 2)


def test_all_transforms_give_the_same_images_with_any_number_of_workers(make_images, both_cores):
    manifest = make_images([0, 1, 2, 3] * 3, suffix=".jpg")
    transforms = [*ALWAYS, "pad_crop"]
    alone = images(manifest, transforms)
    assert alone.shape == (24, 3, 32, 20)
    for workers in (1, 2):
        assert torch.equal(images(manifest, transforms, workers=workers), alone)
    assert not torch.equal(images(manifest, transforms, seed=1), alone)


@pytest.mark.parametrize("entry", [*ALWAYS, {"name": "pad_crop"}], ids=lambda entry: entry["name"])
def test_each_transform_draws_anew_for_each_image_batch_and_epoch(entry, make_images):
    """Whatever a transform draws, it is not the same for every image of the first batches."""
    manifest = make_images([0] * 8)
    first, again = (images(manifest, [entry]) for _ in range(2))
    assert torch.equal(first, again)
    plain = images(manifest, [])
    if entry["name"] not in ("random_flip", "random_grayscale"):  # which have nothing to draw
        assert not torch.equal(images(manifest, [entry], seed=1), plain)
    assert not torch.equal(first, plain)


@pytest.fixture
def threads():
    """Sets the number of torch's threads; a worker has one, the training process has several."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.mark.parametrize("entry", [*ALWAYS, {"name": "pad_crop"}], ids=lambda entry: entry["name"])
def test_the_number_of_threads_does_not_matter(entry, threads, photo):
    image = photo(512, 256)
    made = []
    for count in (1, 4):
        threads(count)
        built = registries.TRANSFORMS.build(entry, **DataConfig().transform_context)
        given = image if built.stage == "image" else torch.stack([image.float() / 64 - 2] * 2)
        made += [[built(given.clone(), np.random.default_rng(seed)) for seed in range(3)]]
    assert all(map(torch.equal, *made))


@pytest.mark.parametrize("workers", [0, 2])
def test_b022_one_image_sixteen_times_gives_sixteen_draws_and_others_next_epoch(
    workers, make_images, one_image_sampler, both_cores
):
    manifest = make_images([0])
    transforms = ["random_flip", "pad_crop", {"name": "random_erasing", "probability": 1.0}]
    made = loader(manifest, transforms, workers=workers, batch={"sampler": one_image_sampler})
    drawn = [image for epoch in (0, 1) for batch in made.epoch(epoch) for image in batch.images]
    assert len(drawn) == 64
    assert len({image.numpy().tobytes() for image in drawn}) == 64
