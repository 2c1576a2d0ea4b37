"""What workers have in memory of their own does not grow from epoch to epoch."""

import multiprocessing
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from reid_core import Manifest
from reid_core.data.image_dataset import Collate, ImageDataset, Sample
from reid_core.data.loader import Normalize, TrainLoader

ROWS, BATCH = 6000, 250

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


class Shuffled:
    def __len__(self):
        return ROWS // BATCH

    def batches(self, epoch):
        yield from np.random.default_rng(epoch).permutation(ROWS).reshape(-1, BATCH).tolist()

    def summary(self):
        return ""


class NotDecoded(ImageDataset):
    def _open(self, row):
        shade = len(self.path(row)) % 256
        return Sample(torch.full((3, 8, 4), shade, dtype=torch.uint8), row, row, True)


def private_bytes():
    """Memory of each worker that it shares with no other process, by its process."""
    sizes = {}
    for process in multiprocessing.active_children():
        lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
        sizes[process.pid] = 1024 * sum(
            int(line.split()[1]) for line in lines if line.startswith("Private_")
        )
    return sizes


@pytest.mark.timeout(120)
def test_cases_b170_and_b172_memory_of_workers_that_stay_is_flat_after_the_first_epoch():
    before = private_bytes()
    pids = np.arange(ROWS) // 16
    manifest = Manifest(
        name="rows",
        root=Path(),
        paths=np.array([f"train/{row:07d}.jpg" for row in range(ROWS)], np.dtypes.StringDType()),
        pids=pids,
        camids=np.arange(ROWS) % 6,
        splits=np.full(ROWS, "train"),
    )
    loader = TrainLoader(
        dataset=NotDecoded(manifest, image_size=(8, 4), labels=pids),
        collate=Collate(pids, manifest.camids),
        sampler=Shuffled(),
        normalize=Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),
        device=torch.device("cpu"),
        seed=0,
        workers=2,
        start_method="fork",
    )
    found = []
    for epoch in range(5):
        assert sum(len(batch.pids) for batch in loader.epoch(epoch)) == ROWS
        now = private_bytes()
        found.append({pid: size for pid, size in now.items() if pid not in before})
    assert [sorted(sizes) for sizes in found] == [sorted(found[0])] * 5
    assert len(found[0]) == 2
    totals = [sum(sizes.values()) for sizes in found]
    assert max(totals) < 1.1 * totals[0]
    # Flat from the second epoch on: 100 bytes kept of each row that was read would show.
    assert max(totals[1:]) - totals[1] < 2 * 2**20
