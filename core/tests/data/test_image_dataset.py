"""From a row to a sample: resize, augmentation, and what becomes of broken files (B013)."""

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from reid_core.data.broken_images import BrokenImage
from reid_core.data.image_dataset import Collate, ImageDataset, Sample
from reid_core.data.image_reader import BrokenImageError, read_image
from reid_core.data.keys import SampleKey
from reid_core.data.transforms import ImageTransform
from reid_core.data.transforms.pad_crop import PadCrop
from reid_core.data.transforms.random_flip import RandomFlip
from reid_core.errors import DataError, PluginError

SIZE = (20, 12)


class Lighten(ImageTransform):
    def __init__(self, make):
        self.make = make

    def __call__(self, image, rng):
        return self.make(image)


def break_files(manifest, *rows):
    for row in rows:
        path = manifest.root / manifest.paths[row]
        path.write_bytes(path.read_bytes()[:60])


def test_an_image_of_the_right_size_is_kept_bit_by_bit(make_images):
    manifest = make_images([0, 0])
    sample = ImageDataset(manifest, image_size=SIZE)[SampleKey(1, 5)]
    assert torch.equal(sample.image, read_image(manifest.root / manifest.paths[1]))
    assert sample[1:] == (1, 1, True, None)


@pytest.mark.parametrize("interpolation", ["bilinear", "bicubic"])
@pytest.mark.parametrize("size", [(10, 9), (40, 12), (31, 17)])
def test_other_sizes_are_resized_with_antialiasing(interpolation, size, make_images):
    manifest = make_images([0])
    dataset = ImageDataset(manifest, image_size=size, interpolation=interpolation)
    with Image.open(manifest.root / manifest.paths[0]) as opened:
        reference = np.asarray(opened.resize(size[::-1], Image.Resampling[interpolation.upper()]))
    resized = dataset[SampleKey(0, 0)].image.permute(1, 2, 0).numpy()
    assert resized.shape == (*size, 3)
    # Both work with rounded weights; cubic ones, some negative, are rounded more often.
    tolerance = 1 if interpolation == "bilinear" else 4
    assert np.abs(resized.astype(int) - reference).max() <= tolerance


def test_paths_may_hold_spaces_and_other_alphabets(make_images, tmp_path):
    manifest = make_images([0, 1])
    odd = tmp_path / "re id" / "数据 #1" / "Märket,1501"
    odd.parent.mkdir(parents=True)
    manifest.root.rename(odd)
    dataset = ImageDataset(replace(manifest, root=odd), image_size=SIZE)
    assert dataset.path(1) == f"{odd}/001.png"
    assert dataset[SampleKey(1, 0)].image.shape == (3, *SIZE)


def test_an_absolute_path_needs_no_root(make_images, monkeypatch, tmp_path):
    manifest = make_images([0])
    absolute = replace(
        manifest, root=Path(), paths=np.array([str(manifest.root / manifest.paths[0])])
    )
    monkeypatch.chdir(tmp_path)
    dataset = ImageDataset(absolute, image_size=SIZE)
    assert dataset.path(0) == str(manifest.root / manifest.paths[0])
    assert dataset[SampleKey(0, 0)].is_valid


def test_the_seed_of_the_key_decides_the_augmentation(make_images, global_random_state):
    dataset = ImageDataset(
        make_images([0, 0]), image_size=SIZE, transforms=[PadCrop(padding=4), RandomFlip()]
    )
    before = global_random_state()
    first, again, other = (dataset[SampleKey(0, seed)].image for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    dataset[SampleKey(0, 2**64 - 1)]  # the largest seed that is drawn
    assert global_random_state() == before


def test_transforms_run_in_their_order(make_images):
    first, second = Lighten(lambda image: image // 2), Lighten(lambda image: image + 1)
    manifest = make_images([0])
    plain = ImageDataset(manifest, image_size=SIZE)[SampleKey(0, 0)].image
    both = ImageDataset(manifest, image_size=SIZE, transforms=[first, second])[SampleKey(0, 0)]
    assert torch.equal(both.image, plain // 2 + 1)


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (lambda image: image[:, 1:], r"\(3, 19, 12\) torch.uint8"),
        (lambda image: image.float(), r"\(3, 20, 12\) torch.float32"),
    ],
)
def test_a_transform_that_breaks_its_contract_is_named(make, found, make_images):
    dataset = ImageDataset(make_images([0]), image_size=SIZE, transforms=[Lighten(make)])
    with pytest.raises(PluginError, match=f"transform Lighten of .* made a {found}; expected"):
        dataset[SampleKey(0, 0)]


def test_a_broken_file_names_path_row_and_what_to_do(make_images):
    manifest = make_images([0, 0, 0])
    break_files(manifest, 2)
    dataset = ImageDataset(manifest, image_size=SIZE)
    assert len(dataset) == 3
    with pytest.raises(BrokenImageError) as caught:
        dataset[SampleKey(2, 0)]
    message = str(caught.value)
    assert message.startswith(f"image {manifest.root}/002.png is broken: ")
    assert "(row 2); repair or remove the file, or set data.broken_images=skip" in message
    assert "'reid-train --check' lists every broken file" in message


def skipping(manifest, **keywords):
    return ImageDataset(
        manifest, image_size=SIZE, broken_images="skip", labels=manifest.pids, **keywords
    )


@pytest.mark.parametrize(
    ("broken", "asked", "given"),
    [([1], 1, 3), ([3], 3, 5), ([5], 5, 1), ([1, 3], 1, 5), ([3, 5], 5, 1), ([1, 3], 3, 5)],
)
def test_a_broken_image_is_replaced_from_its_own_identity(broken, asked, given, make_images):
    manifest = make_images([0, 1, 0, 1, 0, 1])
    whole = read_image(manifest.root / manifest.paths[given])
    break_files(manifest, *broken)
    sample = skipping(manifest)[SampleKey(asked, 0)]
    assert sample[1:4] == (given, asked, True)
    assert torch.equal(sample.image, whole)
    assert sample.broken == BrokenImage(
        path=f"{manifest.root}/{asked:03d}.png",
        row=asked,
        dataset="images",
        reason="is broken: image file is truncated",
        replaced_by=f"{manifest.root}/{given:03d}.png",
    )


def test_a_replacement_is_resized_and_augmented_like_any_other(make_images):
    manifest = make_images([0, 0])
    dataset = skipping(manifest, transforms=[Lighten(lambda image: image // 2)])
    expected = dataset[SampleKey(1, 0)].image
    break_files(manifest, 0)
    assert torch.equal(dataset[SampleKey(0, 0)].image, expected)


def test_an_identity_without_a_readable_image_cannot_be_skipped(make_images):
    manifest = make_images([0, 1, 0, 1])
    break_files(manifest, 1, 3)
    with pytest.raises(
        DataError, match=r"001\.png .*\(row 1\); and no other image of its identity"
    ):
        skipping(manifest)[SampleKey(1, 0)]


def test_in_a_test_set_a_broken_image_is_marked_and_black(make_images):
    manifest = make_images([0, 0])
    break_files(manifest, 0)
    dataset = ImageDataset(manifest, image_size=SIZE, broken_images="skip")
    sample = dataset[SampleKey(0, 0)]
    assert sample[1:4] == (0, 0, False)
    assert torch.equal(sample.image, torch.zeros(3, *SIZE, dtype=torch.uint8))
    assert (sample.broken.path, sample.broken.replaced_by) == (f"{manifest.root}/000.png", None)
    assert dataset[SampleKey(1, 0)].is_valid


def test_collate_looks_labels_and_cameras_up_by_the_row_that_was_read():
    collate = Collate(np.array([10, 11, 12]), np.array([5, 6, 7]))
    samples = [
        Sample(torch.full((3, 2, 2), row, dtype=torch.uint8), row, requested, is_valid)
        for row, requested, is_valid in ((2, 1, True), (0, 0, False))
    ]
    batch = collate(samples)
    assert batch.images.dtype == torch.uint8
    assert batch.images[:, 0, 0, 0].tolist() == [2, 0]
    assert batch.pids.tolist() == [12, 10]
    assert batch.camids.tolist() == [7, 5]
    assert batch.index.tolist() == [2, 0]
    assert batch.columns["requested"].tolist() == [1, 0]
    assert batch.columns["is_valid"].tolist() == [True, False]
    assert {batch.pids.dtype, batch.camids.dtype, batch.index.dtype} == {torch.int64}


def test_the_data_set_can_be_sent_to_a_worker(make_images):
    manifest = make_images([0, 0])
    dataset = skipping(manifest, transforms=[PadCrop(padding=4), RandomFlip()])
    collate = Collate(manifest.pids, manifest.camids)
    dataset_copy, collate_copy = pickle.loads(pickle.dumps((dataset, collate)))
    for row in (0, 1):
        key = SampleKey(row, 3)
        ours, theirs = collate([dataset[key]]), collate_copy([dataset_copy[key]])
        assert torch.equal(ours.images, theirs.images)
        assert torch.equal(ours.camids, theirs.camids)
