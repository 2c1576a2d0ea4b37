"""The training loader of a config; B003 joined sets, B091 an empty epoch, B154 pickling."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

from reid_core.config import Config
from reid_core.data import loader as loader_module
from reid_core.data.image_reader import read_image
from reid_core.data.labels import LabelMap
from reid_core.data.manifest import Manifest
from reid_core.data.sources import TestSet
from reid_core.data.train_data import build_sampler, build_train_loader, require_picklable
from reid_core.data.transforms import ImageTransform
from reid_core.engine.evaluation.evaluator import Evaluator
from reid_core.errors import ConfigError, DataError, PluginError
from reid_core.plugins.registries import SAMPLERS, TRANSFORMS

CPU = torch.device("cpu")


def config(**data):
    defaults = {
        "image_size": [20, 12],
        "batch": {"sampler": "identity", "identities": 2, "instances": 2},
        "workers": 0,
        "mean": [0, 0, 0],
        "std": [1, 1, 1],
    }
    return Config.model_validate({"seed": 3, "data": {**defaults, **data}})


def build(manifests, **data):
    return build_train_loader(config(**data), manifests, LabelMap.of(manifests), device=CPU)


@pytest.fixture
def registered():
    """``registered(registry, name, factory)`` registers a component until the test ends."""
    entries = []

    def register(registry, name, factory):
        registry.register(factory, name=name)
        entries.append((registry, name))

    yield register
    for registry, name in entries:
        registry._local.pop(name)


def test_the_loader_gives_labels_and_says_what_an_epoch_holds(make_images):
    manifest = make_images([122, 122, 3, 3, 7, 7])
    loader = build([manifest])
    batches = list(loader.epoch(0))
    assert len(batches) == len(loader) == 1
    label = {3: 0, 7: 1, 122: 2}
    for batch in batches:
        pids = manifest.pids[batch.index]
        assert batch.pids.tolist() == [label[pid] for pid in pids]
    assert loader.summary() == (
        "1 batches of 2 identities x 2 images: an epoch draws 4 from 6 images, it sees at least "
        "4 of 6 images (66.6%) and at least 2 of 3 identities (66.6%)"
    )


@pytest.mark.parametrize("is_relative", [False, True])
def test_joined_sets_are_read_from_their_own_folders(is_relative, tmp_path, monkeypatch):
    sets = [write(tmp_path / name, name) for name in ("first set", "数据")]
    monkeypatch.chdir(tmp_path)
    if is_relative:
        sets = [replace(m, root=m.root.relative_to(tmp_path)) for m in sets]
    loader = build(sets)
    seen = {}
    for epoch in range(5):
        for batch in loader.epoch(epoch):
            for image, label, camera, row in zip(
                batch.images, batch.pids, batch.camids, batch.index, strict=True
            ):
                seen[int(row)] = (image, int(label), int(camera))
    assert sorted(seen) == list(range(8))
    for row, (image, label, camera) in seen.items():
        number, position = divmod(row, 4)
        path = tmp_path / ("first set", "数据")[number] / f"{position:03d}.png"
        assert torch.allclose(image * 255, read_image(path).float(), atol=1e-3)
        assert label == 2 * number + position // 2
        assert camera == 3 * number + position % 3


def write(folder, name):
    folder.mkdir()
    for row in range(4):
        pixels = np.random.default_rng([row, len(name)]).integers(0, 256, (20, 12, 3), np.uint8)
        Image.fromarray(pixels).save(folder / f"{row:03d}.png")
    return Manifest(
        name=name,
        root=folder,
        paths=np.array([f"{row:03d}.png" for row in range(4)]),
        pids=np.array([0, 0, 1, 1]),
        camids=np.array([0, 1, 2, 0]),
        splits=np.array(["train"] * 4),
    )


def test_transforms_are_built_with_the_image_size_where_they_ask_for_it(make_images, registered):
    sizes = []

    class Crop(ImageTransform):
        def __init__(self, *, image_size: tuple[int, int]):
            sizes.append(tuple(image_size))

        def __call__(self, image, rng):
            return 255 - image

    registered(TRANSFORMS, "crop", Crop)
    manifest = make_images([0, 0, 1, 1])
    plain = next(build([manifest]).epoch(0))
    inverted = next(build([manifest], transforms=["crop"]).epoch(0))
    assert sizes == [(20, 12)]
    assert torch.allclose(inverted.images, 1 - plain.images, atol=1e-6)


def test_image_and_batch_transforms_act_where_they_belong(make_images):
    transforms = [{"name": "random_erasing", "probability": 1.0}, {"name": "pad_crop"}]
    batch = next(build([make_images([0, 0, 1, 1])], transforms=transforms).epoch(0))
    assert batch.images.shape == (4, 3, 20, 12)
    assert ((batch.images == 0).all(dim=1).flatten(1).sum(dim=1) > 0).all()


def test_what_is_no_transform_is_refused(make_images, registered):
    registered(TRANSFORMS, "relu", torch.nn.ReLU)
    with pytest.raises(PluginError, match="transform ReLU"):
        build([make_images([0, 0, 1, 1])], transforms=["relu"])


class Holder(ImageTransform):
    """Holds a function, which cannot be pickled when it is a lambda."""

    def __init__(self) -> None:
        self.change: Callable[[object], object] = lambda image: image

    def __call__(self, image, rng):
        return self.change(image)


def test_a_transform_that_cannot_be_sent_to_workers_is_named(make_images, registered):
    registered(TRANSFORMS, "holder", Holder)
    manifest = make_images([0, 0, 1, 1])
    with pytest.raises(PluginError) as caught:
        build([manifest], transforms=["holder"], workers=1)
    assert str(caught.value).startswith("transform holder of local ")
    assert str(caught.value).endswith(
        "cannot be sent to worker processes: Can't pickle local object "
        "'Holder.__init__.<locals>.<lambda>'; keep lambdas and local functions out of it, or set "
        "data.workers=0"
    )
    assert len(list(build([manifest], transforms=["holder"], workers=0).epoch(0))) == 1


def test_a_transform_without_a_name_is_called_by_its_class():
    with pytest.raises(PluginError, match=r"^transform Holder of .*test_train_data cannot be sent"):
        require_picklable([Holder()])


@pytest.mark.parametrize("method", [None, "spawn"])
def test_workers_of_both_loaders_are_started_as_the_config_says(method, make_images, monkeypatch):
    started = []
    make_loader = loader_module.make_loader

    def watched(*args, start_method, **keywords):
        started.append(start_method)
        return make_loader(*args, start_method=start_method, **keywords)

    monkeypatch.setattr(loader_module, "make_loader", watched)
    manifest = make_images([1, 2, 1, 2])
    build([manifest], workers=1, start_method=method)
    rows = replace(manifest, splits=np.array(["query", "query", "gallery", "gallery"]))
    evaluator = Evaluator(TestSet("images", rows, 2), config(workers=0, start_method=method), CPU)
    evaluator.evaluate(Flat(), lambda: None)
    assert started == [method, method]


class Flat(torch.nn.Module):
    """Embeds an image as its pixels."""

    def embed(self, images):
        return images.flatten(1)


def test_broken_images_are_handled_as_the_config_says(make_images):
    manifest = make_images([0, 0, 1, 1])
    (manifest.root / manifest.paths[1]).write_bytes(b"")
    with pytest.raises(DataError, match=r"001\.png"):
        list(build([manifest]).epoch(0))
    loader = build([manifest], broken_images="skip")
    assert [len(batch) for batch in loader.epoch(0)] == [4]
    assert [image.path for image in loader.broken] == [str(manifest.root / "001.png")]


def sampler_of(images, **batch):
    ids = np.arange(images)
    return build_sampler(config(batch=batch), ids, ids * 0)


def test_a_batch_larger_than_the_data_is_told_before_the_first_epoch():
    with pytest.raises(ConfigError) as caught:
        sampler_of(6, sampler="random", size=64)
    assert str(caught.value) == (
        "data.batch: 0 batches per epoch: the training data has 6 images of 6 identities, less "
        "than one batch of sampler random; make the batch smaller"
    )


def test_sampler_parameters_come_from_the_batch_section():
    assert len(sampler_of(64, sampler="random", size=16)) == 4
    with pytest.raises(ConfigError, match=r"instance.*unknown parameter.*did you mean instances"):
        sampler_of(64, sampler="identity", identities=2, instance=2)


def test_a_sampler_gets_labels_cameras_and_seed(registered):
    given = {}

    class Sampler:
        def __init__(self, *, labels, camids, seed):
            given.update(labels=labels.tolist(), camids=camids.tolist(), seed=seed)

        def __len__(self):
            return 1

        def batches(self, epoch):
            yield [0]

        def summary(self):
            return "one batch"

    registered(SAMPLERS, "own", Sampler)
    sampler_of(3, sampler="own")
    assert given == {"labels": [0, 1, 2], "camids": [0, 0, 0], "seed": 3}


# B036
def test_a_sampler_of_torch_is_told_what_is_missing(registered):
    def indices(*, labels):
        return torch.utils.data.SequentialSampler(labels)

    registered(SAMPLERS, "indices", indices)
    with pytest.raises(
        PluginError, match=r"sampler indices of local .* gave a SequentialSampler without"
    ):
        sampler_of(3, sampler="indices")
