"""Time k-reciprocal re-ranking beside the published algorithm on full matrices.

    python benchmarks/rerank.py --queries 3368 --gallery 15913 --dim 2048

Both run on the CPU on the same random features, clustered by identity, each in a process of its
own, so that the peak of memory is its own. "matrix products" is the time of the products alone, in
the same blocks, measured right before and after; "beyond the products" is the total less that.
``--dense no`` leaves the published algorithm out: at the size of MSMT17 (``--queries 11659
--gallery 82161``) it needs more than 100 GB.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reid_core.evaluation.distances.blocks import block_bounds
from reid_core.evaluation.rerankers import k_reciprocal
from reid_core.evaluation.rerankers.jaccard import JaccardIndex
from reid_core.evaluation.rerankers.memory import need_of

K1, K2, LAMBDA = 20, 6, 0.3
#: Images of an identity, as in Market-1501 and MSMT17, about.
IMAGES_PER_IDENTITY = 25

#: Where the search for neighbours is called; the name of the package is that of the function.
_MODULE = import_module("reid_core.evaluation.rerankers.k_reciprocal")
#: One query of so many is kept to be compared: all of them would be a matrix.
SAMPLED = 64

Figures = dict[str, float]
Matrix = NDArray[np.float32]


def make_features(*, queries: int, gallery: int, dim: int, noise: float, path: Path) -> None:
    """Write both sides, float32 with one cluster an identity, into ``path``."""
    rng = np.random.default_rng(0)
    num_identities = max(2, (queries + gallery) // IMAGES_PER_IDENTITY)
    # Chance similarity falls with the root of the dimension: so the task stays equally hard.
    spread = noise * (dim / 2048) ** 0.25
    centres = rng.standard_normal((num_identities, dim), dtype=np.float32)
    for side, size in (("query", queries), ("gallery", gallery)):
        features = rng.standard_normal((size, dim), dtype=np.float32)
        features *= spread
        for start in range(0, size, 4096):
            part = features[start : start + 4096]
            part += centres[rng.integers(0, num_identities, len(part))]
        np.save(path / f"{side}.npy", features)


def load(path: Path, side: str) -> Tensor:
    """Read one side back, (N, D) float32."""
    return torch.from_numpy(np.load(path / f"{side}.npy"))


def dense(query: Tensor, gallery: Tensor) -> tuple[Matrix, Figures]:
    """Follow Zhong et al. 2017 on matrices of all rows by all rows."""
    started = time.perf_counter()
    unit = torch.nn.functional.normalize(torch.cat([query, gallery]))
    original: Matrix = (1 - unit @ unit.T).numpy()
    multiplied = time.perf_counter()
    original = np.power(original, 2).astype(np.float32)
    original = np.transpose(original / np.max(original, axis=0))
    order = np.argsort(original).astype(np.int32)
    sorted_at = time.perf_counter()
    weights = dense_sets(original, order)
    original = original[: len(query)]
    weights = np.stack([np.mean(weights[order[row, :K2]], axis=0) for row in range(len(order))])
    made = time.perf_counter()
    mixed = dense_jaccard(weights, len(query)) * (1 - LAMBDA) + original * LAMBDA
    distances: Matrix = mixed[:, len(query) :].astype(np.float32)
    done = time.perf_counter()
    return distances, {
        "products_s": multiplied - started,
        "neighbours_s": sorted_at - multiplied,
        "sets_s": made - sorted_at,
        "jaccard_s": done - made,
        "total_s": done - started,
    }


def dense_sets(original: Matrix, order: NDArray[np.int32]) -> Matrix:
    """Make the weighted k-reciprocal sets, (N, N)."""
    weights = np.zeros_like(original)
    half = int(np.around(K1 / 2))
    for row in range(len(order)):
        members = reciprocal(order, row, K1)
        expanded = members
        for member in members:
            theirs = reciprocal(order, member, half)
            if len(np.intersect1d(theirs, members)) > 2 / 3 * len(theirs):
                expanded = np.append(expanded, theirs)
        expanded = np.unique(expanded)
        weight = np.exp(-original[row, expanded])
        weights[row, expanded] = weight / np.sum(weight)
    return weights


def reciprocal(order: NDArray[np.int32], row: int, k: int) -> NDArray[np.int32]:
    """Return the rows among the k + 1 nearest of a row that have it among theirs."""
    forward = order[row, : k + 1]
    return forward[np.where(order[forward, : k + 1] == row)[0]]


def dense_jaccard(weights: Matrix, num_query: int) -> Matrix:
    """Make the Jaccard distances of the queries to all rows, (Q, N)."""
    holders = [np.where(weights[:, column] != 0)[0] for column in range(len(weights))]
    jaccard = np.zeros((num_query, len(weights)), dtype=np.float32)
    for row in range(num_query):
        shared = np.zeros(len(weights), dtype=np.float32)
        for column in np.where(weights[row] != 0)[0]:
            held = holders[column]
            shared[held] += np.minimum(weights[row, column], weights[held, column])
        jaccard[row] = 1 - shared / (2 - shared)
    return jaccard


def blocked(query: Tensor, gallery: Tensor) -> tuple[Matrix, Figures]:
    """Use ours, block by block; nothing of a block is kept but a sample of queries."""
    seconds = {"neighbours_s": 0.0, "sets_s": 0.0, "jaccard_s": 0.0}
    started = time.perf_counter()
    with (
        timed(_MODULE, "nearest_in_blocks", seconds, "neighbours_s"),
        timed(JaccardIndex, "distances", seconds, "jaccard_s"),
    ):
        source = k_reciprocal(k1=K1, k2=K2, lambda_value=LAMBDA).distances(
            query, gallery, distance="cosine"
        )
        prepared = time.perf_counter()
        sample = [
            source(start, stop)[: max(1, (stop - start) // SAMPLED)].copy()
            for start, stop in block_bounds(len(query), len(gallery))
        ]
    done = time.perf_counter()
    seconds["sets_s"] = prepared - started - seconds["neighbours_s"]
    return np.concatenate(sample), {**seconds, "total_s": done - started}


@contextmanager
def timed(owner: object, method: str, seconds: Figures, key: str) -> Iterator[None]:
    """Add up the time that a method takes."""
    plain: Callable[..., object] = getattr(owner, method)

    @wraps(plain)
    def call(*args: object, **kwargs: object) -> object:
        started = time.perf_counter()
        result = plain(*args, **kwargs)
        seconds[key] += time.perf_counter() - started
        return result

    setattr(owner, method, call)
    try:
        yield
    finally:
        setattr(owner, method, plain)


def products(query: Tensor, gallery: Tensor) -> float:
    """Return the seconds of the products that ours needs, in its blocks and nothing else."""
    sizes = (len(query), len(gallery), int(query.shape[1]))
    rows_a_block = need_of("", sizes, k1=K1, k2=K2, limit_gb=2.0).block_rows
    started = time.perf_counter()
    for side in (query, gallery):
        for start in range(0, len(side), rows_a_block):
            block = side[start : start + rows_a_block]
            torch.mm(block, query.T)
            torch.mm(block, gallery.T)
    for start, stop in block_bounds(len(query), len(gallery)):
        torch.mm(query[start:stop], gallery.T)
    return time.perf_counter() - started


RUNNERS = {"dense": dense, "blocked": blocked}


def memory_mb(field: str) -> float:
    """Return this process's resident memory in MB (10^6 bytes).

    Args:
        field: ``VmRSS`` for now, ``VmHWM`` for the peak. Linux only.
    """
    status = Path("/proc/self/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024 / 1e6


def child(kind: str, path: Path) -> None:
    """Run one kind on the stored features and print its figures as JSON."""
    query, gallery = load(path, "query"), load(path, "gallery")
    # Threads and the buffers of the product exist before the clock and the memory start.
    torch.mm(query[:64], gallery[:64].T)
    before = memory_mb("VmRSS")
    first = products(query, gallery) if kind == "blocked" else 0.0
    distances, figures = RUNNERS[kind](query, gallery)
    figures["added_mb"] = memory_mb("VmHWM") - before
    if kind == "blocked":
        figures["products_s"] = (first + products(query, gallery)) / 2
        size = len(query), len(gallery), int(query.shape[1])
        figures["said_mb"] = k_reciprocal().needed_bytes(*size) / 1e6
    else:
        bounds = block_bounds(len(query), len(gallery))
        kept = [
            np.arange(start, start + max(1, (stop - start) // SAMPLED)) for start, stop in bounds
        ]
        distances = distances[np.concatenate(kept)]
    np.save(path / f"{kind}.npy", distances)
    print(json.dumps(figures))


def measure(kind: str, path: Path) -> Figures:
    """Run one kind in a process of its own."""
    command = [sys.executable, __file__, "--child", kind, "--path", str(path)]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    figures: Figures = json.loads(answer.stdout)
    figures["beyond_s"] = figures["total_s"] - figures["products_s"]
    figures["ratio"] = figures["total_s"] / figures["products_s"]
    return figures


ROWS = {
    "products_s": "matrix products, s",
    "neighbours_s": "neighbours, s",
    "sets_s": "sets, s",
    "jaccard_s": "Jaccard distances, s",
    "total_s": "total, s",
    "beyond_s": "beyond the products, s",
    "ratio": "total / products",
    "added_mb": "peak added memory, MB",
    "said_mb": "said beforehand, MB",
}


def print_table(columns: dict[str, Figures]) -> None:
    """Print the kinds side by side."""
    print(f"{'':26}" + "".join(f"{name:>12}" for name in columns))
    for key, title in ROWS.items():
        cells = [f"{one[key]:12.2f}" if key in one else f"{'':>12}" for one in columns.values()]
        print(f"{title:26}{''.join(cells)}")


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--queries", type=int, default=3368)
    parser.add_argument("--gallery", type=int, default=15913)
    parser.add_argument("--dim", type=int, default=2048)
    parser.add_argument("--noise", type=float, default=2.8, help="spread within an identity")
    parser.add_argument("--dense", choices=("yes", "no"), default="yes", help="run it too")
    parser.add_argument("--child", choices=sorted(RUNNERS), help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(args.child, args.path)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        sizes = {"queries": args.queries, "gallery": args.gallery, "dim": args.dim}
        make_features(**sizes, noise=args.noise, path=path)
        print(
            f"{args.queries} queries, {args.gallery} gallery entries, {args.dim} dimensions, "
            f"{torch.get_num_threads()} threads"
        )
        kinds = ["dense", "blocked"] if args.dense == "yes" else ["blocked"]
        columns = {kind: measure(kind, path) for kind in kinds}
        print_table(columns)
        if args.dense == "yes":
            theirs, ours = (np.load(path / f"{kind}.npy") for kind in kinds)
            print(f"largest difference of the distances: {np.abs(theirs - ours).max():.1e}")


if __name__ == "__main__":
    main()
