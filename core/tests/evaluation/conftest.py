"""Slow and obvious references that the fast paths are compared with, and reference data."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from reid_core.evaluation import Labels

SHARED = Path(__file__).resolve().parents[4] / "shared"


@dataclass(frozen=True)
class Plain:
    """Figures of the plain evaluation; None and NaN where no query has a match."""

    ap: np.ndarray
    inp: np.ndarray
    cmc: np.ndarray


def candidates(row, query_pid, query_camid, gallery: Labels) -> list[tuple[float, bool]]:
    """Distance and match of each gallery entry that counts under the Market-1501 rule."""
    kept = []
    for distance, pid, camid in zip(row, gallery.pids, gallery.camids, strict=True):
        if pid == -1 or (pid == query_pid and camid == query_camid):
            continue
        kept.append((float(distance), bool(pid == query_pid)))
    return kept


def figures(ranked: list[bool], max_rank: int) -> tuple[float, float, np.ndarray]:
    """AP, INP and CMC of one ranked list, word by word as they are defined."""
    hits, precisions, last = 0, [], 0
    cmc = np.zeros(max_rank)
    for rank, is_match in enumerate(ranked, start=1):
        if is_match:
            hits += 1
            precisions.append(hits / rank)
            last = rank
            cmc[rank - 1 :] = 1
    return sum(precisions) / hits, hits / last, cmc


def mean_over(orders: Iterator[list[bool]], max_rank: int) -> tuple[float, float, np.ndarray]:
    ap, inp, cmc = zip(*(figures(order, max_rank) for order in orders), strict=True)
    return float(np.mean(ap)), float(np.mean(inp)), np.mean(cmc, axis=0)


def one_order(kept: list[tuple[float, bool]]) -> Iterator[list[bool]]:
    yield [is_match for _, is_match in sorted(kept, key=lambda entry: entry[0])]


def all_orders(kept: list[tuple[float, bool]]) -> Iterator[list[bool]]:
    for order in itertools.permutations(kept):
        yield from one_order(list(order))  # sorted() is stable: ties stay as permuted


def evaluate_plainly(orders, distances, query: Labels, gallery: Labels, max_rank: int) -> Plain:
    ap = np.full(len(query), np.nan)
    inp = np.full(len(query), np.nan)
    cmcs = []
    for row in range(len(query)):
        kept = candidates(distances[row], query.pids[row], query.camids[row], gallery)
        if any(is_match for _, is_match in kept):
            ap[row], inp[row], cmc = mean_over(orders(kept), max_rank)
            cmcs.append(cmc)
    return Plain(ap, inp, np.mean(cmcs, axis=0) if cmcs else np.full(max_rank, np.nan))


@pytest.fixture(scope="session")
def plain() -> Callable[..., Plain]:
    """Plain loops, for distances without ties."""
    return lambda *args, max_rank=50: evaluate_plainly(one_order, *args, max_rank)


@pytest.fixture(scope="session")
def plain_over_all_orders() -> Callable[..., Plain]:
    """Plain loops, averaged over every order of the gallery: what ties give on average."""
    return lambda *args, max_rank=50: evaluate_plainly(all_orders, *args, max_rank)


@pytest.fixture(scope="session")
def golden() -> dict[str, np.ndarray]:
    """Reference numbers of FastReID and torchreid on random inputs."""
    return read(SHARED / "golden" / "evaluation.npz")


@pytest.fixture(scope="session")
def osnet_embeddings() -> dict[str, np.ndarray]:
    """Real embeddings of a public data set."""
    return read(SHARED / "data" / "fixtures" / "lpc_reid_osnet_x0_25_msmt17.npz")


def read(path: Path) -> dict[str, np.ndarray]:
    if not path.exists():
        pytest.skip(f"reference data is missing: {path}")
    with np.load(path) as archive:
        return dict(archive)
