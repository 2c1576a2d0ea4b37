"""Time the blocked evaluation beside a plain one: full matrix, argsort, loop over queries.

    python benchmarks/evaluate.py --set market
    python benchmarks/evaluate.py --set msmt17 --no-plain

Both run on the CPU on the same random features, clustered by identity, each in a process of its
own, so that the peak of memory is its own. Sizes, identities, cameras and distractors are those of
Market-1501 or MSMT17. The time of the matrix products, made in the same blocks, is told from that
of everything after, which with ours runs on several threads in large galleries. There are two
cases: easy, as a trained model gives, where few entries stand before a query's last match, and
hard, which is noise, where nearly all do. The plain evaluation's cost does not depend on it. At the
size of MSMT17 the plain one needs 20 GB.

The plain evaluation is the usual one in NumPy; toolboxes compile its loop, but not its sort, which
takes most of the time.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reid_core.evaluation import Embeddings, evaluate_retrieval, market1501
from reid_core.evaluation.distances.distance import GalleryDistance

MAX_RANK = 50

Figures = dict[str, float]


@dataclass(frozen=True)
class TestSet:
    """The size of a test set."""

    queries: int
    gallery: int
    identities: int
    cameras: int
    distractors: float


SETS = {
    "market": TestSet(3368, 15913, 751, 6, 2798 / 15913),
    "msmt17": TestSet(11659, 82161, 3060, 15, 0.0),
}
#: Spread within an identity, beside a distance of one between identities.
NOISE = {"easy": 2.8, "hard": 20.0}


def make_features(size: TestSet, *, dim: int, noise: float, path: Path) -> None:
    """Write both sides, float32 with one cluster an identity, into ``path``."""
    rng = np.random.default_rng(0)
    # Chance similarity falls with the root of the dimension: so the task stays equally hard.
    spread = noise * (dim / 2048) ** 0.25
    centres = rng.standard_normal((size.identities + 1, dim), dtype=np.float32)
    columns: dict[str, NDArray[np.generic]] = {}
    for side, rows in (("query", size.queries), ("gallery", size.gallery)):
        pids = rng.integers(1, size.identities + 1, rows)
        features = rng.standard_normal((rows, dim), dtype=np.float32)
        features *= spread
        features += centres[pids]
        if side == "gallery":
            is_distractor = rng.random(rows) < size.distractors
            features[is_distractor] = rng.standard_normal(
                (int(is_distractor.sum()), dim), dtype=np.float32
            )
            pids[is_distractor] = 0
        columns[f"{side}_features"] = features
        columns[f"{side}_pids"] = pids
        columns[f"{side}_camids"] = rng.integers(1, size.cameras + 1, rows)
    for name, column in columns.items():
        np.save(path / f"{name}.npy", column)


def load(path: Path, side: str) -> Embeddings:
    """Read one side back."""
    return Embeddings(
        features=torch.from_numpy(np.load(path / f"{side}_features.npy")),
        pids=np.load(path / f"{side}_pids.npy"),
        camids=np.load(path / f"{side}_camids.npy"),
    )


def plain_product(query: Embeddings, gallery: Embeddings) -> Tensor:
    """Return the full (Q, G) matrix of cosine distances."""
    unit_query = torch.nn.functional.normalize(query.features)
    unit_gallery = torch.nn.functional.normalize(gallery.features)
    return 1 - unit_query @ unit_gallery.T


def plain_rest(distances: Tensor, query: Embeddings, gallery: Embeddings) -> Figures:
    """Sort every row in full, then walk the queries."""
    q_labels, g_labels = query.labels, gallery.labels
    order = np.argsort(distances.numpy(), axis=1)
    is_match = g_labels.pids[order] == q_labels.pids[:, None]
    aps, inps, cmcs = [], [], []
    for row in range(len(query)):
        same_camera = g_labels.camids[order[row]] == q_labels.camids[row]
        hits = is_match[row][~(is_match[row] & same_camera)]
        if not hits.any():
            continue
        ranks = np.flatnonzero(hits) + 1
        aps.append((np.arange(1, len(ranks) + 1) / ranks).mean())
        inps.append(len(ranks) / ranks[-1])
        cmcs.append(np.minimum(hits.cumsum()[:MAX_RANK], 1))
    return {
        "mAP": float(np.mean(aps)),
        "mINP": float(np.mean(inps)),
        "rank1": float(np.mean(cmcs, axis=0)[0]),
    }


def run_plain(query: Embeddings, gallery: Embeddings) -> Figures:
    """Evaluate the plain way and return seconds, split, and scores."""
    started = time.perf_counter()
    distances = plain_product(query, gallery)
    multiplied, cpu_multiplied = time.perf_counter(), time.process_time()
    scores = plain_rest(distances, query, gallery)
    return {
        "product_s": multiplied - started,
        "rest_s": time.perf_counter() - multiplied,
        "rest_cpu_s": time.process_time() - cpu_multiplied,
        **scores,
    }


def run_blocked(query: Embeddings, gallery: Embeddings) -> Figures:
    """Evaluate in blocks and return seconds, split, and scores."""
    seconds = cpu_seconds = 0.0
    plain_call = GalleryDistance.__call__

    def timed_call(self: GalleryDistance, block: Tensor) -> Tensor:
        nonlocal seconds, cpu_seconds
        started, cpu_started = time.perf_counter(), time.process_time()
        result = plain_call(self, block)
        seconds += time.perf_counter() - started
        cpu_seconds += time.process_time() - cpu_started
        return result

    # The benchmark looks inside: block by block, products and ranking alternate.
    GalleryDistance.__call__ = timed_call  # type: ignore[method-assign, assignment]
    started, cpu_started = time.perf_counter(), time.process_time()
    result = evaluate_retrieval(query, gallery, protocol=market1501(), max_rank=MAX_RANK)
    total, cpu_total = time.perf_counter() - started, time.process_time() - cpu_started
    GalleryDistance.__call__ = plain_call  # type: ignore[method-assign]
    scores = result.scalars()
    return {
        "product_s": seconds,
        "rest_s": total - seconds,
        "rest_cpu_s": cpu_total - cpu_seconds,
        **{name: scores[name] for name in ("mAP", "mINP", "rank1")},
    }


RUNNERS = {"plain": run_plain, "blocked": run_blocked}


def memory_mb(field: str) -> float:
    """Return this process's resident memory in MB (10^6 bytes).

    Args:
        field: ``VmRSS`` for now, ``VmHWM`` for the peak. Linux only: the portable getrusage starts
            a child at its parent's peak.
    """
    status = Path("/proc/self/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024 / 1e6


def child(kind: str, path: Path, repeat: int) -> None:
    """Run one kind on the stored features and print its figures as JSON."""
    query, gallery = load(path, "query"), load(path, "gallery")
    # Threads and the buffers of the product exist before the clock and the memory start.
    torch.mm(query.features[:64], gallery.features[:64].T)
    before = memory_mb("VmRSS")
    runs = [RUNNERS[kind](query, gallery) for _ in range(repeat)]
    fastest = {key: min(run[key] for run in runs) for key in runs[0]}
    print(json.dumps({**fastest, "added_mb": memory_mb("VmHWM") - before}))


def measure(kind: str, path: Path, repeat: int) -> Figures:
    """Run one kind in a process of its own."""
    command = [sys.executable, __file__, "--child", kind, "--path", str(path)]
    command += ["--repeat", str(repeat)]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    figures: Figures = json.loads(answer.stdout)
    return figures


def print_table(plain: Figures | None, blocked: Figures) -> None:
    """Print both side by side, with the ratio plain / blocked."""
    columns = [figures for figures in (plain, blocked) if figures is not None]
    for figures in columns:
        figures["total_s"] = figures["product_s"] + figures["rest_s"]
    names = ["plain", "blocked"][-len(columns) :]
    print(f"{'':24}" + "".join(f"{name:>12}" for name in names))
    rows = {
        "product_s": "matrix products, s",
        "rest_s": "everything after, s",
        "rest_cpu_s": "  CPU time of all threads, s",
        "total_s": "total, s",
        "added_mb": "peak added memory, MB",
    }
    for key, title in rows.items():
        line = "".join(f"{figures[key]:12.2f}" for figures in columns)
        if plain is not None:
            line += f"   ratio {plain[key] / max(blocked[key], 1e-9):.1f}"
        print(f"{title:24}{line}")
    for key in ("mAP", "mINP", "rank1"):
        print(f"{key:24}" + "".join(f"{figures[key]:12.6f}" for figures in columns))


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument(
        "--set", choices=sorted(SETS), default="market", help="size of the test set"
    )
    parser.add_argument("--case", choices=[*NOISE, "both"], default="both")
    parser.add_argument("--dim", type=int, default=2048)
    parser.add_argument("--no-plain", action="store_true", help="leave out the plain evaluation")
    parser.add_argument("--repeat", type=int, default=1, help="runs; the fastest parts count")
    parser.add_argument("--quick", action="store_true", help="only show that everything runs")
    parser.add_argument("--child", choices=sorted(RUNNERS), help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(args.child, args.path, args.repeat)
        return
    size, dim = (TestSet(50, 400, 20, 4, 0.1), 32) if args.quick else (SETS[args.set], args.dim)
    for case in NOISE if args.case == "both" else (args.case,):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder)
            make_features(size, dim=dim, noise=NOISE[case], path=path)
            print(
                f"{case}: {size.queries} queries, {size.gallery} gallery entries, {dim} "
                f"dimensions, {torch.get_num_threads()} threads"
            )
            plain = None if args.no_plain else measure("plain", path, args.repeat)
            print_table(plain, measure("blocked", path, args.repeat))


if __name__ == "__main__":
    main()
