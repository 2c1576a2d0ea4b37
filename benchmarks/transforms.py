"""Images per second of one worker: from JPEG files of 64 × 128 pixels to a training batch.

Compares the usual pipeline of Pillow and torchvision, ours with both filters, and decoding alone.
They take turns, a batch each, so that whatever else the machine does hits all of them, and are
timed by the time of their thread.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torchvision import transforms as usual

from reid_core import Batch, Manifest
from reid_core.data.fetch import BatchReader
from reid_core.data.image_dataset import Collate, ImageDataset
from reid_core.data.image_reader import read_image
from reid_core.data.keys import SampleKey
from reid_core.data.loader import Normalize
from reid_core.data.resize import Interpolation
from reid_core.data.transforms.pad_crop import PadCrop
from reid_core.data.transforms.random_erasing import RandomErasing
from reid_core.data.transforms.random_flip import RandomFlip

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
SIZE = (256, 128)

#: Takes the rows of a batch, returns what it made of them.
Pipeline = Callable[[Sequence[int]], object]


def write_images(folder: Path, count: int) -> Manifest:
    """Write JPEG files, 64 pixels wide and 128 high, about 3 kB each."""
    rng = np.random.default_rng(0)
    names = [f"{row:05d}.jpg" for row in range(count)]
    for name in names:
        blocks = Image.fromarray(rng.integers(0, 256, (16, 8, 3), dtype=np.uint8))
        blocks.resize((64, 128), Image.Resampling.BICUBIC).save(folder / name, quality=90)
    return Manifest(
        name="benchmark",
        root=folder,
        paths=np.array(names),
        pids=np.arange(count),
        camids=np.zeros(count, dtype=np.int64),
        splits=np.array(["train"] * count),
    )


def usual_pipeline(manifest: Manifest) -> Pipeline:
    """The pipeline that most re-identification code has: everything image by image."""
    transform = usual.Compose(
        [
            usual.Resize(SIZE, interpolation=usual.InterpolationMode.BICUBIC),
            usual.RandomHorizontalFlip(p=0.5),
            usual.Pad(10),
            usual.RandomCrop(SIZE),
            usual.ToTensor(),
            usual.Normalize(MEAN, STD),
            usual.RandomErasing(p=0.5, scale=(0.02, 0.4), ratio=(0.3, 3.33)),
        ]
    )
    paths = [manifest.root / name for name in manifest.paths.tolist()]

    def load(row: int) -> Tensor:
        with Image.open(paths[row]) as opened:
            image: Tensor = transform(opened.convert("RGB"))
        return image

    return lambda rows: torch.stack([load(row) for row in rows])


class OurPipeline:
    """What a worker does with a batch, and what the device does with it after that."""

    def __init__(self, manifest: Manifest, interpolation: Interpolation) -> None:
        labels = np.arange(len(manifest.paths))
        dataset = ImageDataset(
            manifest,
            image_size=SIZE,
            interpolation=interpolation,
            transforms=[RandomFlip(), PadCrop(padding=10)],
        )
        self._reader = BatchReader(dataset, Collate(labels, labels))
        self._normalize = Normalize(MEAN, STD)
        self._erase = RandomErasing()
        self._rng = np.random.default_rng(0)

    def worker(self, rows: Sequence[int]) -> Batch:
        """Decode, resize, flip, shift and collate."""
        seeds = self._rng.integers(2**63, size=len(rows)).tolist()
        keys = [SampleKey(row, seed) for row, seed in zip(rows, seeds, strict=True)]
        return self._reader.__getitems__(keys).batch()

    def whole(self, rows: Sequence[int]) -> Tensor:
        """The same, normalised and erased."""
        return self._erase(self._normalize(self.worker(rows).images), self._rng)


def decode_with_pillow(manifest: Manifest) -> Pipeline:
    """Decoding alone, as the usual pipeline does it."""
    paths = [manifest.root / name for name in manifest.paths.tolist()]

    def load(row: int) -> Image.Image:
        with Image.open(paths[row]) as opened:
            return opened.convert("RGB")

    return lambda rows: [load(row) for row in rows]


def decode(manifest: Manifest) -> Pipeline:
    """Decoding alone, as ours does it."""
    paths = [str(manifest.root / name) for name in manifest.paths.tolist()]
    return lambda rows: [read_image(paths[row]) for row in rows]


def measure(
    pipelines: dict[str, Pipeline], *, count: int, batch: int, rounds: int
) -> dict[str, list[float]]:
    """Return the seconds an image of each pipeline, by round."""
    seconds: dict[str, list[float]] = {name: [] for name in pipelines}
    rng = np.random.default_rng(1)
    for turn in range(rounds + 1):
        rows = rng.integers(count, size=batch).tolist()
        for name, pipeline in pipelines.items():
            started = time.thread_time()
            pipeline(rows)
            if turn:  # the first turn only warms up
                seconds[name].append((time.thread_time() - started) / batch)
    return seconds


def print_table(seconds: dict[str, list[float]], reference: str) -> None:
    """Print images per second, and how many times those of the reference."""
    base = seconds[reference]
    print(f"{'':34}{'median':>9}{'best':>9}{'ratio':>8}   images per second")
    for name, values in seconds.items():
        median, best = 1 / statistics.median(values), 1 / min(values)
        ratio = statistics.median(slow / fast for slow, fast in zip(base, values, strict=True))
        print(f"{name:34}{median:9.0f}{best:9.0f}{ratio:8.2f}")


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--images", type=int, default=512, help="files that are written and read")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=40, help="batches of each pipeline")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        manifest = write_images(Path(folder), args.images)
        bilinear, bicubic = (OurPipeline(manifest, i) for i in ("bilinear", "bicubic"))
        reference = "Pillow and torchvision, bicubic"
        pipelines: dict[str, Pipeline] = {
            reference: usual_pipeline(manifest),
            "ours, bicubic": bicubic.whole,
            "ours, bilinear": bilinear.whole,
            "ours, bicubic, worker's part": bicubic.worker,
            "ours, bilinear, worker's part": bilinear.worker,
            "decoding alone, Pillow": decode_with_pillow(manifest),
            "decoding alone, ours": decode(manifest),
        }
        seconds = measure(pipelines, count=args.images, batch=args.batch, rounds=args.rounds)
    print_table(seconds, reference)


if __name__ == "__main__":
    main()
