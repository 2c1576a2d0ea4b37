"""What workers have in memory of their own, epoch by epoch, with a data set of a million rows.

    python benchmarks/worker_memory.py --rows 1000000 --workers 8 --epochs 3

Every row of path, identity and camera is read in every epoch, but no image is decoded. Printed is
the memory that the workers share with no other process, after each epoch: of our loader, whose rows
are flat arrays and whose workers stay from epoch to epoch, and of torch's loader over the usual
list of tuples, whose pages are copied because reading an item writes its reference count.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from reid_core import Manifest
from reid_core.data.image_dataset import Collate, ImageDataset, Sample
from reid_core.data.loader import Normalize, TrainLoader

BATCH = 256
SIZE = (8, 4)


class Shuffled:
    """Batches of shuffled rows."""

    def __init__(self, rows: int) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return self._rows // BATCH

    def batches(self, epoch: int) -> Iterator[list[int]]:
        """Yield the rows of each batch."""
        order = np.random.default_rng(epoch).permutation(self._rows)
        for start in range(0, len(self) * BATCH, BATCH):
            yield order[start : start + BATCH].tolist()

    def summary(self) -> str:
        """Say what an epoch is."""
        return f"{len(self)} batches"


class NotDecoded(ImageDataset):
    """Finds where each image is, and makes one of the length of its path."""

    def _open(self, row: int) -> Sample:
        shade = len(self.path(row)) % 256
        return Sample(torch.full((3, *SIZE), shade, dtype=torch.uint8), row, row, True)


class Tuples(Dataset[tuple[Tensor, int, int]]):
    """The usual list."""

    def __init__(self, items: list[tuple[str, int, int]]) -> None:
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, row: int) -> tuple[Tensor, int, int]:
        path, pid, camid = self._items[row]
        return torch.full((3, *SIZE), len(path) % 256, dtype=torch.uint8), pid, camid


def private_mb() -> float:
    """Return what all workers have alone, in MB (10^6 bytes)."""
    total = 0
    for process in multiprocessing.active_children():
        for line in Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Private_"):
                total += int(line.split()[1])
    return total * 1024 / 1e6


def measure(kind: str, rows: int, workers: int, epochs: int) -> list[float]:
    """Read some epochs; return the workers' memory after each."""
    names = [f"train/{row // 16:07d}_c{row % 6}s1_{row:07d}_00.jpg" for row in range(rows)]
    found = []
    if kind == "ours":
        manifest = Manifest(
            name="benchmark",
            root=Path(),
            paths=np.array(names, np.dtypes.StringDType()),
            pids=np.arange(rows) // 16,
            camids=np.arange(rows) % 6,
            splits=np.full(rows, "train"),
        )
        del names
        ours = TrainLoader(
            dataset=NotDecoded(manifest, image_size=SIZE, labels=manifest.pids),
            collate=Collate(manifest.pids, manifest.camids),
            sampler=Shuffled(rows),
            normalize=Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),
            device=torch.device("cpu"),
            seed=0,
            workers=workers,
        )
        for epoch in range(epochs):
            for _ in ours.epoch(epoch):
                pass
            found.append(private_mb())
        return found
    usual = DataLoader(
        Tuples([(name, row // 16, row % 6) for row, name in enumerate(names)]),
        batch_size=BATCH,
        shuffle=True,
        num_workers=workers,
        persistent_workers=True,
    )
    del names
    for _ in range(epochs):
        for _ in usual:
            pass
        found.append(private_mb())
    return found


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="only show that everything runs")
    parser.add_argument("--child", choices=["ours", "tuples"], help=argparse.SUPPRESS)
    args = parser.parse_args()
    torch.set_num_threads(1)
    rows, workers = (2000, 2) if args.quick else (args.rows, args.workers)
    if args.child:
        print(json.dumps(measure(args.child, rows, workers, args.epochs)))
        return
    print(f"{rows} rows, {workers} workers; MB that they share with nobody, after each epoch")
    for kind in ("ours", "tuples"):
        done = subprocess.run(
            [sys.executable, __file__, "--child", kind, *sys.argv[1:]],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        found = json.loads(done.stdout.splitlines()[-1])
        shown = "".join(f"{value:9.1f}" for value in found)
        print(
            f"{kind:8}{shown}   growth after the first {found[-1] / found[0] - 1:.1%}", flush=True
        )


if __name__ == "__main__":
    main()
