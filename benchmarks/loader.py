"""Images per second of the training loader, and the memory of its workers.

The first table times whole epochs from JPEG files to normalised batches, with 0, 1 and 2 workers:
the usual pipeline (Pillow opens, converts and resizes; to tensor; normalise) in torch's loader,
ours from files, ours from a packed store, and decoding alone. They take turns, an epoch each, so
that whatever else the machine does hits all of them.

The second table says what a worker has in memory of its own when the data set has few rows and when
it has many: with our table of rows, and with the usual list of tuples.
"""

from __future__ import annotations

import argparse
import io
import json
import multiprocessing
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms as usual

from reid_core import Manifest
from reid_core.data.datasets.packed import packed
from reid_core.data.image_dataset import Collate, ImageDataset
from reid_core.data.image_reader import read_image
from reid_core.data.loader import Normalize, TrainLoader
from reid_core.data.packing import Recoding, pack

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
#: Height and width that images are brought to.
SIZE = (256, 128)
#: Height and width of the files.
STORED = ((128, 64), (256, 128), (1024, 512))
BATCH = 64
CPU = torch.device("cpu")

#: Reads a whole epoch.
Epoch = Callable[[], object]


class Shuffled:
    """Batches of shuffled rows, incomplete ones left out."""

    def __init__(self, rows: int, batches: int | None = None) -> None:
        self._rows = rows
        self._batches = batches or rows // BATCH

    def __len__(self) -> int:
        return self._batches

    def batches(self, epoch: int) -> Iterator[list[int]]:
        """Yield the rows of each batch."""
        order = np.random.default_rng(epoch).permutation(self._rows)
        for start in range(0, self._batches * BATCH, BATCH):
            yield order[start : start + BATCH].tolist()

    def summary(self) -> str:
        """Say what an epoch is."""
        return f"{self._batches} batches"


class UsualDataset(Dataset[tuple[Tensor, int, int]]):
    """What most code has: a list of tuples, and every image on its own."""

    def __init__(self, items: list[tuple[str, int, int]]) -> None:
        self.items = items
        self._transform = usual.Compose(
            [
                usual.Resize(SIZE, interpolation=usual.InterpolationMode.BILINEAR),
                usual.ToTensor(),
                usual.Normalize(MEAN, STD),
            ]
        )

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, row: int) -> tuple[Tensor, int, int]:
        path, pid, camid = self.items[row]
        return self.transformed(path), pid, camid

    def transformed(self, path: str) -> Tensor:
        """Return the image of a file."""
        with Image.open(path) as opened:
            image: Tensor = self._transform(opened.convert("RGB"))
        return image


class TupleDataset(UsualDataset):
    """The list of tuples alone, with one image for all, for its memory."""

    def __init__(self, items: list[tuple[str, int, int]], image: bytes) -> None:
        super().__init__(items)
        self._image = image

    def transformed(self, path: str) -> Tensor:
        """Return the same image for every path."""
        return torch.from_numpy(np.asarray(Image.open(io.BytesIO(self._image)))[: len(path)].copy())


class OneImage:
    """A store with one image for every path."""

    def __init__(self, image: bytes) -> None:
        self._image = image

    def read(self, path: str) -> bytes:
        """Return it."""
        return self._image

    def locate(self, path: str) -> str:
        """Return the path."""
        return path


def jpeg(height: int, width: int, seed: int) -> bytes:
    """Make an image of about 3 kB at 128 × 64, 11 kB at 256 × 128, 170 kB at 1024 × 512."""
    blocks = np.random.default_rng(seed).integers(
        0, 256, (max(height // 8, 1), max(width // 8, 1), 3), np.uint8
    )
    stream = io.BytesIO()
    image = Image.fromarray(blocks).resize((width, height), Image.Resampling.BICUBIC)
    image.save(stream, "JPEG", quality=90)
    return stream.getvalue()


def manifest_of(root: Path, paths: np.ndarray, **keywords: object) -> Manifest:
    """Name images, 16 of each identity."""
    count = len(paths)
    return Manifest(
        name="benchmark",
        root=root,
        paths=paths,
        pids=np.arange(count) // 16,
        camids=np.arange(count) % 6,
        splits=np.full(count, "train"),
        **keywords,  # type: ignore[arg-type]
    )


def our_loader(
    manifest: Manifest,
    workers: int,
    *,
    size: tuple[int, int] = SIZE,
    method: str | None = None,
    batches: int | None = None,
) -> TrainLoader:
    """Make the loader that training has."""
    labels = manifest.pids
    return TrainLoader(
        dataset=ImageDataset(manifest, image_size=size, labels=labels),
        collate=Collate(labels, manifest.camids),
        sampler=Shuffled(len(manifest), batches),
        normalize=Normalize(MEAN, STD),
        device=CPU,
        seed=0,
        workers=workers,
        start_method=method,
    )


def usual_loader(
    dataset: UsualDataset, workers: int, *, method: str | None = None, batches: int | None = None
) -> DataLoader[tuple[Tensor, int, int]]:
    """Make torch's loader as most code does."""
    return DataLoader(
        dataset,
        batch_sampler=list(Shuffled(len(dataset), batches).batches(0)),
        num_workers=workers,
        persistent_workers=workers > 0,
        multiprocessing_context=method if workers else None,
    )


def drain(batches: Iterable[object]) -> None:
    """Take every batch."""
    for _ in batches:
        pass


# Throughput.


def stores_of(manifest: Manifest, folder: Path, *, is_large: bool) -> dict[str, Manifest]:
    """Pack the images as they are and, where they are large, at the size of the network."""
    recodings = {"ours, packed": Recoding()}
    if is_large:
        recodings["ours, packed at 256x128"] = Recoding(size=SIZE)
    stores = {}
    for number, (name, recoding) in enumerate(recodings.items()):
        pack(manifest, folder / str(number), recoding)
        stores[name] = packed(folder / str(number))
    return stores


def epochs_of(
    manifest: Manifest, stores: dict[str, Manifest]
) -> dict[tuple[str, int | None], Epoch]:
    """Return what is timed, by its name and number of workers."""
    paths = [str(manifest.root / path) for path in manifest.paths.tolist()]
    plain = UsualDataset([(path, row // 16, row % 6) for row, path in enumerate(paths)])

    def with_pillow() -> None:
        for path in paths:
            with Image.open(path) as opened:
                opened.convert("RGB")

    epochs: dict[tuple[str, int | None], Epoch] = {
        ("decoding alone, Pillow", None): with_pillow,
        ("decoding alone, ours", None): lambda: drain(map(read_image, paths)),
    }
    for workers in (0, 1, 2):
        loaders = {
            "usual": usual_loader(plain, workers),
            "ours, files": our_loader(manifest, workers),
            **{name: our_loader(store, workers) for name, store in stores.items()},
        }
        for name, loader in loaders.items():
            read = partial(loader.epoch, 0) if isinstance(loader, TrainLoader) else loader.__iter__
            epochs[name, workers] = lambda read=read: drain(read())
    return epochs


def measure(epochs: dict[tuple[str, int | None], Epoch], rounds: int) -> dict[object, list[float]]:
    """Return the seconds of each epoch, by round; they take turns."""
    seconds: dict[object, list[float]] = {name: [] for name in epochs}
    for turn in range(rounds + 1):
        for name, epoch in epochs.items():
            started = time.perf_counter()
            epoch()
            if turn:  # the first turn starts the workers
                seconds[name].append(time.perf_counter() - started)
    return seconds


def print_throughput(images: int, rounds: int, stored: Iterable[tuple[int, int]]) -> None:
    """Write images, time everything, print a table for each size of the files."""
    for height, width in stored:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder, "files")
            root.mkdir()
            names = np.array([f"{row:05d}.jpg" for row in range(images)])
            for row, name in enumerate(names.tolist()):
                (root / name).write_bytes(jpeg(height, width, row))
            manifest = manifest_of(root, names)
            epochs = epochs_of(
                manifest, stores_of(manifest, Path(folder), is_large=height > SIZE[0])
            )
            seconds = measure(epochs, rounds)
            epochs.clear()
        print(f"files of {height} x {width} (height x width), batches of {SIZE[0]} x {SIZE[1]}")
        print(f"{'':26}{'workers':>8}{'median':>9}{'best':>9}{'ratio':>8}   images per second")
        for (name, workers), values in seconds.items():
            base = seconds["usual", workers or 0]
            ratio = statistics.median(b / v for b, v in zip(base, values, strict=True))
            median, best = images / statistics.median(values), images / min(values)
            shown = "-" if workers is None else str(workers)
            print(f"{name:26}{shown:>8}{median:9.0f}{best:9.0f}{ratio:8.2f}")
        print()


# Memory.


def memory_of(process: int) -> dict[str, float]:
    """Return the memory of a process in MiB: all it maps, its share, and what it has alone."""
    sizes: dict[str, float] = {}
    for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()[1:]:
        name, value, *_ = line.split()
        sizes[name.rstrip(":")] = int(value) / 1024
    private = sizes["Private_Clean"] + sizes["Private_Dirty"]
    return {"rss": sizes["Rss"], "pss": sizes["Pss"], "private": private}


def peak_memory() -> float:
    """Return the most memory that this process has had, in MiB."""
    # Not ru_maxrss, which counts the process that started this one.
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def memory_run(kind: str, rows: int, method: str, batches: int) -> dict[str, float]:
    """Read some batches by one worker; return its memory, in a process that did nothing else."""
    image = jpeg(16, 8, 0)
    names = [
        f"bounding_box_train/{row // 16:07d}_c{row % 6}s1_{row:07d}_00.jpg" for row in range(rows)
    ]
    started = time.perf_counter()
    if kind == "ours":
        manifest = manifest_of(
            Path(), np.array(names, np.dtypes.StringDType()), store=OneImage(image)
        )
        del names
        ours = our_loader(manifest, 1, size=(16, 8), method=method, batches=batches)
        iterator: Iterator[object] = ours.epoch(0)
    else:
        items = [(name, row // 16, row % 6) for row, name in enumerate(names)]
        del names
        plain = TupleDataset(items, image)
        iterator = iter(usual_loader(plain, 1, method=method, batches=batches))
    next(iterator)
    first = time.perf_counter() - started
    for _ in range(batches - 2):
        next(iterator)
    [worker] = [child for child in multiprocessing.active_children() if child.pid is not None]
    return {**memory_of(worker.pid or 0), "first": first, "peak": peak_memory()}


def print_memory(few: int, many: int, batches: int, methods: Iterable[str]) -> None:
    """Print what a worker has with few rows and with many."""
    print("memory of one worker in MiB; first: seconds from the list of paths to the first batch;")
    print("peak: MiB of the training process")
    print(
        f"{'':8}{'start':>8}{'rows':>10}{'private':>10}{'pss':>8}{'rss':>8}{'first':>8}{'peak':>8}"
    )
    for kind in ("ours", "tuples"):
        for method in methods:
            found = []
            for rows in (few, many):
                words = [
                    sys.executable,
                    __file__,
                    "--memory-of",
                    kind,
                    str(rows),
                    method,
                    str(batches),
                ]
                done = subprocess.run(words, check=True, capture_output=True, text=True)
                found.append(json.loads(done.stdout.splitlines()[-1]))
                one = found[-1]
                print(
                    f"{kind:8}{method:>8}{rows:>10}{one['private']:10.1f}{one['pss']:8.1f}"
                    f"{one['rss']:8.1f}{one['first']:8.2f}{one['peak']:8.0f}"
                )
            growth = found[1]["private"] - found[0]["private"]
            print(f"{kind:8}{method:>8}{'growth':>10}{growth:10.1f}")


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--images", type=int, default=1024, help="files that are written and read")
    parser.add_argument("--rounds", type=int, default=7, help="epochs of each")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the large data set")
    parser.add_argument("--quick", action="store_true", help="only show that everything runs")
    parser.add_argument("--memory-of", nargs=4, help=argparse.SUPPRESS)
    args = parser.parse_args()
    torch.set_num_threads(1)
    if args.memory_of:
        kind, rows, method, batches = args.memory_of
        print(json.dumps(memory_run(kind, int(rows), method, int(batches))))
        return
    if args.quick:
        print_throughput(BATCH, 1, STORED[:1])
        print_memory(1000, 2000, 5, ("fork",))
        return
    print_throughput(args.images, args.rounds, STORED)
    print_memory(10_000, args.rows, 100, ("fork", "spawn"))


if __name__ == "__main__":
    main()
