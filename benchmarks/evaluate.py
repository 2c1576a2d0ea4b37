"""Time the blocked evaluation beside a plain one: full matrix, argsort, loop over queries.

    python benchmarks/evaluate.py --queries 3368 --gallery 15913 --dim 2048

Both run on the CPU on the same random features, clustered by identity, each in a process of its
own, so that the peak of memory is its own. Identities and cameras are distributed as in
Market-1501 (751 identities, 6 cameras, 18 % distractors). ``--noise`` sets how hard it is; the
plain evaluation's cost does not depend on it, that of the blocked one does a little.
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
from numpy.typing import NDArray
from torch import Tensor

from reid_core.evaluation import Embeddings, evaluate_retrieval, market1501
from reid_core.evaluation.distance import GalleryDistance

NUM_IDENTITIES = 751
NUM_CAMERAS = 6
DISTRACTOR_SHARE = 2798 / 15913
MAX_RANK = 50

Figures = dict[str, float]


def make_features(*, queries: int, gallery: int, dim: int, noise: float, path: Path) -> None:
    """Write both sides, float32 with one cluster an identity, into ``path``."""
    rng = np.random.default_rng(0)
    # Chance similarity falls with the root of the dimension: so the task stays equally hard.
    spread = noise * (dim / 2048) ** 0.25
    centres = rng.standard_normal((NUM_IDENTITIES + 1, dim), dtype=np.float32)
    columns: dict[str, NDArray[np.generic]] = {}
    for side, size in (("query", queries), ("gallery", gallery)):
        pids = rng.integers(1, NUM_IDENTITIES + 1, size)
        features = spread * rng.standard_normal((size, dim), dtype=np.float32) + centres[pids]
        if side == "gallery":
            is_distractor = rng.random(size) < DISTRACTOR_SHARE
            features[is_distractor] = rng.standard_normal(
                (int(is_distractor.sum()), dim), dtype=np.float32
            )
            pids[is_distractor] = 0
        columns[f"{side}_features"] = features
        columns[f"{side}_pids"] = pids
        columns[f"{side}_camids"] = rng.integers(1, NUM_CAMERAS + 1, size)
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
    multiplied = time.perf_counter()
    scores = plain_rest(distances, query, gallery)
    done = time.perf_counter()
    return {"product_s": multiplied - started, "rest_s": done - multiplied, **scores}


def run_blocked(query: Embeddings, gallery: Embeddings) -> Figures:
    """Evaluate in blocks and return seconds, split, and scores."""
    seconds = 0.0
    plain_call = GalleryDistance.__call__

    def timed_call(self: GalleryDistance, block: Tensor) -> Tensor:
        nonlocal seconds
        started = time.perf_counter()
        result = plain_call(self, block)
        seconds += time.perf_counter() - started
        return result

    # The benchmark looks inside: block by block, products and ranking alternate.
    GalleryDistance.__call__ = timed_call  # type: ignore[method-assign, assignment]
    started = time.perf_counter()
    result = evaluate_retrieval(query, gallery, protocol=market1501(), max_rank=MAX_RANK)
    total = time.perf_counter() - started
    scores = result.scalars()
    return {
        "product_s": seconds,
        "rest_s": total - seconds,
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


def print_table(plain: Figures, blocked: Figures) -> None:
    """Print both side by side, with the ratio plain / blocked."""
    for figures in (plain, blocked):
        figures["total_s"] = figures["product_s"] + figures["rest_s"]
    print(f"{'':22}{'plain':>12}{'blocked':>12}{'ratio':>9}")
    rows = {
        "product_s": "matrix product, s",
        "rest_s": "the rest, s",
        "total_s": "total, s",
        "added_mb": "peak added memory, MB",
    }
    for key, title in rows.items():
        ratio = plain[key] / max(blocked[key], 1e-9)
        print(f"{title:22}{plain[key]:12.2f}{blocked[key]:12.2f}{ratio:9.1f}")
    for key in ("mAP", "mINP", "rank1"):
        print(f"{key:22}{plain[key]:12.6f}{blocked[key]:12.6f}")


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--queries", type=int, default=3368)
    parser.add_argument("--gallery", type=int, default=15913)
    parser.add_argument("--dim", type=int, default=2048)
    parser.add_argument("--noise", type=float, default=2.8, help="spread within an identity")
    parser.add_argument("--repeat", type=int, default=1, help="runs; the fastest parts count")
    parser.add_argument("--child", choices=sorted(RUNNERS), help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(args.child, args.path, args.repeat)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        make_features(
            queries=args.queries,
            gallery=args.gallery,
            dim=args.dim,
            noise=args.noise,
            path=path,
        )
        print(
            f"{args.queries} queries, {args.gallery} gallery entries, {args.dim} dimensions, "
            f"{torch.get_num_threads()} threads"
        )
        print_table(measure("plain", path, args.repeat), measure("blocked", path, args.repeat))


if __name__ == "__main__":
    main()
