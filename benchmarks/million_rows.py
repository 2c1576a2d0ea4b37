"""Time and memory from the start of a run to its first batch, for a table of a million rows.

    python benchmarks/million_rows.py --rows 1000000

Writes a table with text identities, cameras and splits, whose rows name links to a few small JPEG
files, and starts a process that does what ``reid-train`` does up to the first batch: it reads the
recipe and the table, checks them, builds model, sampler and loader, and takes a batch. A second
process does the same with a table of 1,000 rows, so that what the table costs can be told from what
starting costs. Peak memory is that of the main process; worker processes share its tables.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

#: Images of an identity, and files in a folder.
IMAGES, FOLDER_FILES = 20, 1000
#: A file takes 65,000 links on common file systems.
LINKS = 50_000
SPLITS = ("query", "gallery", *["train"] * 8)

Figures = dict[str, float]


def write_files(folder: Path, rows: int) -> None:
    """Write as many links to small JPEG files as there are rows."""
    rng = np.random.default_rng(0)
    source = folder / "source.jpg"
    for row in range(rows):
        if row % LINKS == 0:
            source = folder / f"source_{row}.jpg"
            pixels = rng.integers(0, 256, (16, 8, 3), dtype=np.uint8)
            Image.fromarray(pixels).resize((64, 128)).save(source, quality=90)
        path = folder / path_of(row)
        if row % FOLDER_FILES == 0:
            path.parent.mkdir(parents=True)
        os.link(source, path)


def path_of(row: int) -> str:
    """Return the path of a row, relative to the folder."""
    return f"images/{row // FOLDER_FILES:05d}/{row:07d}_frame.jpg"


def lines(rows: int) -> Iterator[tuple[str, str, str, str]]:
    """Yield the rows of the table: path, identity, camera, split."""
    for row in range(rows):
        identity = row // IMAGES
        # A test identity is a query once in each camera.
        split = SPLITS[identity % 10] if identity % 10 > 1 else SPLITS[int(row % IMAGES > 4)]
        yield path_of(row), f"person-{identity:06d}", f"camera-{row % 5}", split


def write_table(path: Path, rows: int) -> None:
    """Write the table."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["path", "pid", "camid", "split"])
        writer.writerows(lines(rows))


def measure(table: Path, *, workers: int) -> Figures:
    """Run the start of a run in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--child", str(table), "--workers", str(workers)],
        capture_output=True,
        text=True,
        check=False,
        cwd=table.parent,
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    return figures


def start_run(table: Path, workers: int) -> None:
    """Do what a run does up to its first batch, and print what it took."""
    from time import perf_counter

    begin = perf_counter()
    from reid_core.config import load_config
    from reid_core.engine import DefaultTrainer

    imported = perf_counter()
    config = load_config(
        "osnet/osnet_x0_25",
        {
            "data.train": [{"name": "csv", "file": str(table)}],
            "data.image_size": [128, 64],
            "data.batch": {"sampler": "identity", "identities": 16, "instances": 4},
            "data.workers": workers,
            "evaluate.at_start": False,
            "output": str(table.parent / f"run_{table.stem}"),
        },
    )
    trainer = DefaultTrainer(config)
    built = perf_counter()
    batch = next(iter(trainer.batches(0, 0)))
    assert len(batch) == 64
    taken = perf_counter()
    print(
        json.dumps(
            {
                "importing": imported - begin,
                "building": built - imported,
                "first batch": taken - built,
                "in all": taken - begin,
                "peak MiB": peak_memory(),
            }
        )
    )


def peak_memory() -> float:
    """Return the largest memory that this process held so far, in MiB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise SystemExit("the peak of memory is read from /proc, which only Linux has")


def main() -> None:
    """Make the tables, and time a run on each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the large table")
    parser.add_argument("--workers", type=int, default=2, help="worker processes")
    parser.add_argument("--rounds", type=int, default=3, help="runs on each table, in turn")
    parser.add_argument("--quick", action="store_true", help="2,000 rows and one round")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        start_run(arguments.child, arguments.workers)
        return
    rows = 2000 if arguments.quick else arguments.rows
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_files(folder, rows)
        tables = {count: folder / f"rows_{count}.csv" for count in (1000, rows)}
        for count, table in tables.items():
            write_table(table, count)
        found: dict[int, list[Figures]] = {count: [] for count in tables}
        for _ in range(1 if arguments.quick else arguments.rounds):
            for count, table in tables.items():
                found[count].append(measure(table, workers=arguments.workers))
    names = list(next(iter(found.values()))[0])
    print(f"{'rows':>9}  " + "  ".join(f"{name:>12}" for name in names) + "   (medians)")
    for count, runs in found.items():
        medians = [float(np.median([run[name] for run in runs])) for name in names]
        cells = [
            f"{value:10.0f}  " if name.startswith("peak") else f"{value:10.2f} s"
            for name, value in zip(names, medians, strict=True)
        ]
        print(f"{count:>9}  " + "  ".join(cells))


if __name__ == "__main__":
    main()
