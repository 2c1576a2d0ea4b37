"""The resize: what its pixels are, and that training and evaluation share it."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.transforms.v2 import functional as image_ops
from torchvision.transforms.v2.functional import InterpolationMode

from reid_core.config import Config
from reid_core.data.image_dataset import ImageDataset
from reid_core.data.image_reader import read_image
from reid_core.data.keys import SampleKey
from reid_core.data.labels import LabelMap
from reid_core.data.loader import Normalize
from reid_core.data.resize import Resize, fitting_size
from reid_core.data.sources import TestSet
from reid_core.data.train_data import build_train_loader
from reid_core.engine.evaluation.evaluator import Evaluator

CPU = torch.device("cpu")


def noise(height, width, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (3, height, width), dtype=torch.uint8, generator=generator)


def channels_last(image):
    return image.permute(1, 2, 0).contiguous().permute(2, 0, 1)


@pytest.mark.parametrize("interpolation", ["bilinear", "bicubic"])
@pytest.mark.parametrize("size", [(256, 128), (31, 17), (128, 64)])
def test_pixels_are_those_of_torchvisions_antialiased_resize(interpolation, size):
    image = noise(128, 64)
    expected = image_ops.resize(
        image, list(size), interpolation=InterpolationMode(interpolation), antialias=True
    )
    resize = Resize(image_size=size, interpolation=interpolation)
    assert torch.equal(resize(image), expected)
    assert torch.equal(resize(channels_last(image)), expected)


def test_enlarging_is_the_weighted_mean_of_the_nearest_pixels():
    image = noise(8, 6)
    resized = Resize(image_size=(16, 12))(image).double()
    for y in range(16):
        for x in range(12):
            # The middle of a pixel lies at its number plus a half.
            row, column = (y + 0.5) / 2 - 0.5, (x + 0.5) / 2 - 0.5
            top, left = int(np.floor(row)), int(np.floor(column))
            expected = torch.zeros(3, dtype=torch.double)
            for dy in (0, 1):
                for dx in (0, 1):
                    weight = (1 - abs(row - top - dy)) * (1 - abs(column - left - dx))
                    at = image[:, min(max(top + dy, 0), 7), min(max(left + dx, 0), 5)]
                    expected += weight * at.double()
            assert (resized[:, y, x] - expected).abs().max() <= 1


@pytest.mark.parametrize(
    ("size", "fitted"),
    [
        ((128, 64), (256, 128)),  # the aspect ratio of the network's images
        ((100, 100), (128, 128)),
        ((64, 128), (64, 128)),
        ((300, 100), (256, 85)),
        ((100, 41), (256, 105)),
        ((42, 100), (54, 128)),
        ((1000, 1), (256, 1)),
        ((1, 1000), (1, 128)),
    ],
)
def test_the_fitting_size_touches_a_limit_and_keeps_the_aspect_ratio(size, fitted):
    assert fitting_size(size, (256, 128)) == fitted


@pytest.mark.parametrize("size", [(100, 100), (300, 100), (17, 32), (7, 11)])
@pytest.mark.parametrize("layout", [channels_last, torch.Tensor.contiguous])
def test_a_letterbox_centres_the_image_on_the_mean_colour(size, layout):
    image = layout(noise(*size))
    mean = (0.1, 0.5, 0.9)
    boxed = Resize(image_size=(64, 32), mode="letterbox", mean=mean)(image)
    rows, columns = fitting_size(size, (64, 32))
    inner = Resize(image_size=(rows, columns))(image)
    top, left = (64 - rows) // 2, (32 - columns) // 2
    assert boxed.shape == (3, 64, 32)
    for y in range(64):
        for x in range(32):
            if top <= y < top + rows and left <= x < left + columns:
                assert torch.equal(boxed[:, y, x], inner[:, y - top, x - left])
            else:
                assert boxed[:, y, x].tolist() == [26, 128, 230]


def test_an_image_of_the_right_aspect_ratio_fills_the_letterbox():
    image = noise(128, 64)
    boxed = Resize(image_size=(256, 128), mode="letterbox")(image)
    assert torch.equal(boxed, Resize(image_size=(256, 128))(image))


def test_a_mean_out_of_range_gives_the_nearest_colour():
    boxed = Resize(image_size=(8, 8), mode="letterbox", mean=(-1.0, 2.0, 0.5))(noise(8, 4))
    assert boxed[:, 0, 0].tolist() == [0, 255, 128]


def test_a_copy_from_a_pickle_does_the_same():
    resize = Resize(image_size=(16, 12), mode="letterbox", interpolation="bicubic")
    copy = pickle.loads(pickle.dumps(resize))
    assert torch.equal(copy(noise(9, 9)), resize(noise(9, 9)))


def config_of(resize):
    data = {
        "image_size": [16, 12],
        "resize": resize,
        "mean": [0.2, 0.4, 0.6],
        "workers": 0,
        "batch": {"sampler": "random", "size": 2},
    }
    return Config.model_validate({"data": data})


class Pixels(torch.nn.Module):
    """Embeds an image as its pixels, and keeps them."""

    def embed(self, images):
        self.images = images
        return images.flatten(1)


def make_odd(manifest):
    """Turned, grey with alpha, inks and a palette: what is read by a rule, or not alike."""
    turned = Image.Exif()
    turned[0x0112] = 6
    files = [manifest.root / path for path in manifest.paths.tolist()]
    images = [Image.open(file).copy() for file in files]
    images[0].save(files[0], "JPEG", exif=turned)
    images[1].convert("LA").save(files[1])
    images[2].convert("CMYK").save(files[2], "JPEG")
    images[3].convert("P").save(files[3], transparency=0)


@pytest.mark.parametrize("resize", ["stretch", "letterbox"])
@pytest.mark.parametrize("is_odd", [False, True])
def test_training_evaluation_and_embedding_read_images_alike(resize, is_odd, make_images):
    manifest, config = make_images([0, 1, 0, 1]), config_of(resize)
    if is_odd:
        make_odd(manifest)
    loader = build_train_loader(config, [manifest], LabelMap.of([manifest]), device=CPU)
    rows = replace(manifest, splits=np.array(["query", "query", "gallery", "gallery"]))
    model = Pixels()
    Evaluator(TestSet("images", rows, 2), config, CPU).evaluate(model, lambda: None)
    dataset = ImageDataset(manifest, image_size=(16, 12), resize=resize, mean=(0.2, 0.4, 0.6))
    expected = torch.stack([dataset[SampleKey(row, 0)].image for row in range(4)])
    by_hand = Resize(image_size=(16, 12), mode=resize, mean=(0.2, 0.4, 0.6))
    embedded = [by_hand(read_image(manifest.root / path)) for path in manifest.paths.tolist()]
    assert torch.equal(torch.stack(embedded), expected)
    expected = Normalize(config.data.mean, config.data.std)(expected)
    assert torch.equal(model.images, expected)
    for batch in loader.epoch(0):
        assert torch.equal(batch.images, expected[batch.index])
