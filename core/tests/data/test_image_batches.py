"""Several images go through each step together; what comes out is what each gives alone."""

import numpy as np
import pytest
import torch

from reid_core.data import image_dataset
from reid_core.data.image_dataset import Collate, ImageDataset
from reid_core.data.image_rows import ImageRows
from reid_core.data.keys import SampleKey
from reid_core.data.loader import Normalize
from reid_core.data.transforms import ImageTransform
from reid_core.data.transforms.pad_crop import PadCrop
from reid_core.data.transforms.random_flip import RandomFlip
from reid_core.errors import DataError

KEYS = [SampleKey(row, 10 + row) for row in (3, 0, 2, 2, 1, 3)]


def dataset(manifest, **keywords):
    return ImageDataset(manifest, image_size=(30, 14), labels=manifest.pids, **keywords)


@pytest.mark.parametrize("suffix", [".png", ".jpg"])
@pytest.mark.parametrize("limit", [1, 1500, 2**23])
def test_a_batch_is_its_samples(suffix, limit, make_images, monkeypatch):
    monkeypatch.setattr(image_dataset, "_BYTES_AT_ONCE", limit)
    data = dataset(
        make_images([0, 1, 0, 1], suffix=suffix), transforms=[RandomFlip(), PadCrop(padding=4)]
    )
    together, alone = data.__getitems__(KEYS), [data[key] for key in KEYS]
    assert [sample[1:] for sample in together] == [sample[1:] for sample in alone]
    assert all(torch.equal(a.image, b.image) for a, b in zip(together, alone, strict=True))


def test_no_more_is_held_decoded_than_the_limit(make_images, monkeypatch):
    held, most = [], []
    read, resize = ImageRows.read, image_dataset.Resize.__call__

    def counted_read(self, row):
        held.append(read(self, row))
        most.append(len(held))
        return held[-1]

    def counted_resize(self, image):
        held.pop()
        return resize(self, image)

    monkeypatch.setattr(ImageRows, "read", counted_read)
    monkeypatch.setattr(image_dataset.Resize, "__call__", counted_resize)
    monkeypatch.setattr(image_dataset, "_BYTES_AT_ONCE", 2 * 3 * 20 * 12)
    dataset(make_images([0, 1, 0, 1])).__getitems__(KEYS)
    assert (max(most), held) == (2, [])


def test_no_samples_give_none(make_images):
    assert dataset(make_images([0])).__getitems__([]) == []


class Fails(ImageTransform):
    def __call__(self, image, rng):
        if rng.bit_generator.state["state"]["key"][0] == 12:  # the seed of row 2
            raise ValueError("no")
        return image


def test_an_error_of_a_transform_says_in_which_row_it_arose(make_images):
    data = dataset(make_images([0, 1, 0, 1]), transforms=[RandomFlip(), Fails()])
    with pytest.raises(ValueError, match="no") as caught:
        data.__getitems__(KEYS)
    assert caught.value.__notes__ == ["raised while reading row 2"]


def test_an_error_of_reading_says_the_row_once(make_images):
    manifest = make_images([0, 1, 0, 1])
    (manifest.root / manifest.paths[2]).write_bytes(b"")
    with pytest.raises(DataError, match=r"\(row 2\)") as caught:
        dataset(manifest).__getitems__(KEYS)
    assert not hasattr(caught.value, "__notes__")


def test_replaced_images_keep_the_row_that_was_asked_for(make_images):
    manifest = make_images([0, 1, 0, 1])
    (manifest.root / manifest.paths[2]).write_bytes(b"")
    samples = dataset(manifest, broken_images="skip").__getitems__(KEYS)
    assert [sample.requested for sample in samples] == [3, 0, 2, 2, 1, 3]
    assert [sample.row for sample in samples] == [3, 0, 0, 0, 1, 3]


@pytest.mark.parametrize("suffix", [".png", ".jpg"])
def test_pixels_stay_channels_last_until_they_are_normalised(suffix, make_images):
    manifest = make_images([0, 1, 0, 1], suffix=suffix)
    data = dataset(manifest, transforms=[RandomFlip(), PadCrop(padding=4)])
    images = Collate(manifest.pids, manifest.camids)(data.__getitems__(KEYS)).images
    assert images.is_contiguous(memory_format=torch.channels_last)
    normalize = Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    normal = normalize(images)
    assert normal.is_contiguous()
    assert torch.equal(normal, normalize(images.contiguous()))


def test_images_in_planes_make_a_batch_in_planes():
    samples = [
        image_dataset.Sample(torch.full((3, 4, 2), n, dtype=torch.uint8), 0, 0, True)
        for n in (1, 2)
    ]
    batch = Collate(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))(samples)
    assert batch.images.is_contiguous()
    assert batch.images[:, 0, 0, 0].tolist() == [1, 2]
