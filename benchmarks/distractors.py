"""Search a gallery of a million entries within a limit of memory.

    python benchmarks/distractors.py
    python benchmarks/distractors.py --stored float16 --mapped

3,368 queries of 512 dimensions search the 15,913 entries of Market-1501's size and a million
distractors. Features are random, clustered by identity, written to a file and then loaded, or with
``--mapped`` left in it. Each task runs in a process of its own, whose peak of resident memory is
held against the limit:

* evaluating: CMC and mAP, exact, block by block;
* the 50 nearest entries of each query, exact;
* the same by FAISS, with the share of rows that are the same as those of the exact search. Features
  are clustered, so that ties and near ties do occur.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from reid_core.evaluation import Embeddings, evaluate_retrieval, market1501
from reid_core.evaluation.distances.nearest import nearest

QUERIES, GALLERY, IDENTITIES, CAMERAS = 3368, 15_913, 751, 6
K = 50
#: Rows that are made at a time.
STEP = 50_000
TASKS = ("evaluate", "exact", "faiss")


def make(path: Path, *, queries: int, distractors: int, dim: int, stored: str) -> None:
    """Write both sides into ``path``, block by block."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((IDENTITIES, dim), dtype=np.float32)
    for side, rows, extra in (("query", queries, 0), ("gallery", GALLERY, distractors)):
        pids = np.concatenate([rng.integers(1, IDENTITIES + 1, rows), np.zeros(extra, np.int64)])
        features = np.lib.format.open_memmap(
            path / f"{side}.npy", mode="w+", dtype=stored, shape=(rows + extra, dim)
        )
        for start in range(0, len(pids), STEP):
            part = pids[start : start + STEP]
            made = rng.standard_normal((len(part), dim), dtype=np.float32)
            made[part > 0] = 2 * made[part > 0] + centres[part[part > 0] - 1]
            features[start : start + STEP] = made
        np.save(path / f"{side}_pids.npy", pids)
        np.save(path / f"{side}_camids.npy", rng.integers(1, CAMERAS + 1, len(pids)))


def load(path: Path, side: str, *, is_mapped: bool) -> Embeddings:
    """Read one side, or leave it in its file."""
    # Mode c: torch wants memory that could be written to. Nothing is.
    features = np.load(path / f"{side}.npy", mmap_mode="c" if is_mapped else None)
    return Embeddings(
        torch.from_numpy(features),
        np.load(path / f"{side}_pids.npy"),
        np.load(path / f"{side}_camids.npy"),
    )


def memory_mb(field: str) -> float:
    """Return resident memory in MB (10^6 bytes); Linux only.

    Args:
        field: ``VmHWM`` for the peak; ``RssAnon`` for what is in no file, now.
    """
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    line = next(line for line in lines if line.startswith(field))
    return int(line.split()[1]) * 1024 / 1e6


def child(task: str, path: Path, *, is_mapped: bool) -> None:
    """Do one task and print its figures as JSON."""
    query, gallery = (load(path, side, is_mapped=is_mapped) for side in ("query", "gallery"))
    started = time.perf_counter()
    figures: dict[str, float] = {}
    if task == "evaluate":
        scores = evaluate_retrieval(query, gallery, protocol=market1501()).scalars()
        figures = {name: scores[name] for name in ("mAP", "rank1")}
    else:
        backend = "faiss" if task == "faiss" else "exact"
        found = nearest(query.features, gallery.features, K, backend=backend)
    figures["seconds"] = time.perf_counter() - started
    figures["peak_mb"] = memory_mb("VmHWM")
    if task == "exact":
        np.savez(path / "exact.npz", rows=found.rows, distances=found.distances)
    if task == "faiss":
        exact = np.load(path / "exact.npz")
        figures["same_rows"] = float((exact["rows"] == found.rows).mean())
        figures["same_first"] = float((exact["rows"][:, 0] == found.rows[:, 0]).mean())
        figures["largest_difference"] = float(np.abs(exact["distances"] - found.distances).max())
    print(json.dumps(figures))


def main() -> int:
    """Parse the command line, run, and compare with the limit."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--queries", type=int, default=QUERIES)
    parser.add_argument("--distractors", type=int, default=1_000_000)
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--stored", choices=["float32", "float16"], default="float32")
    parser.add_argument("--mapped", action="store_true", help="leave the features in their file")
    parser.add_argument("--limit-mb", type=int, default=4000, help="resident memory of a process")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=TASKS)
    parser.add_argument("--quick", action="store_true", help="only show that everything runs")
    parser.add_argument("--child", choices=TASKS, help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(args.child, args.path, is_mapped=args.mapped)
        return 0
    is_kept = True
    with tempfile.TemporaryDirectory() as folder:
        distractors, dim = (1000, 32) if args.quick else (args.distractors, args.dim)
        make(
            Path(folder),
            queries=args.queries,
            distractors=distractors,
            dim=dim,
            stored=args.stored,
        )
        print(
            f"{args.queries} queries, {GALLERY + distractors} gallery entries, {dim} dimensions, "
            f"{args.stored}, {'memory map' if args.mapped else 'loaded'}, "
            f"{torch.get_num_threads()} threads"
        )
        for task in args.tasks:
            words = [sys.executable, __file__, "--child", task, "--path", folder]
            words += ["--mapped"] if args.mapped else []
            done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
            figures = json.loads(done.stdout.splitlines()[-1])
            is_kept &= figures["peak_mb"] < args.limit_mb
            print(
                f"{task:10}" + "  ".join(f"{name} {value:.6g}" for name, value in figures.items())
            )
    print(f"limit of {args.limit_mb} MB {'kept' if is_kept else 'NOT KEPT'}")
    return 0 if is_kept else 1


if __name__ == "__main__":
    sys.exit(main())
