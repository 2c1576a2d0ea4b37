"""The nearest gallery rows of queries, in a gallery of any size: exact, or found by FAISS."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reid_core.errors import UsageError
from reid_core.evaluation.distances.blocks import block_bounds
from reid_core.evaluation.distances.distance import DistanceName, GalleryDistance, check_same_width
from reid_core.evaluation.distances.faiss_search import faiss_candidates
from reid_core.evaluation.distances.neighbours import smallest
from reid_core.evaluation.search import check_finite

Backend = Literal["exact", "faiss"]

#: Queries that are compared with a part of the gallery together.
QUERY_ROWS = 1024
#: Distances that exist at a time, 64 MB of float32.
SEARCH_VALUES = 2**24


class Nearest(NamedTuple):
    """The k nearest gallery rows of Q queries, nearest first.

    Args:
        distances: (Q, k) float32.
        rows: (Q, k) int64 rows of the gallery; of those at one distance the smaller comes first.
    """

    distances: NDArray[np.float32]
    rows: NDArray[np.int64]


def nearest(
    query: Tensor,
    gallery: Tensor,
    k: int,
    *,
    distance: DistanceName = "cosine",
    backend: Backend = "exact",
    block_size: int | None = None,
) -> Nearest:
    """Find the k rows of a gallery that are nearest to each query.

    Both sides are cut into blocks, so that memory depends on neither: about 64 MB of distances,
    and a part of the gallery in float32. A gallery may be a memory map, or stored in half
    precision. No protocol is asked: see :func:`top_matches` for entries that count.

    ``faiss`` searches by the brute force of that library, which is as exact, and gives the same
    rows but where distances differ by no more than float32 rounds. Queries whose k-th neighbour is
    as near as what FAISS left out, for example among copies of one image, are searched again
    without it.

    Args:
        query: (Q, D) floating point.
        gallery: (G, D) floating point.
        k: Rows a query, 1 to G.
        distance: ``cosine`` or ``euclidean``, see :func:`pairwise_distance`.
        backend: ``exact``, or ``faiss`` (``pip install 'reid-core[faiss]'``), which searches on
            the processor.
        block_size: Queries a block; None is 1,024. It changes no result beyond what float32
            rounding may swap.

    Returns:
        Distances and rows.

    Raises:
        DataError: Features differ in width or are not finite, or FAISS is not installed.
        UsageError: ``k``, ``distance``, ``backend`` or ``block_size`` is out of range.
    """
    if backend not in get_args(Backend):
        raise UsageError(f"backend {backend!r} is not known; expected one of {get_args(Backend)}")
    check_same_width(query, gallery)
    if not 1 <= k <= len(gallery):
        raise UsageError(f"k is {k}; expected 1 to {len(gallery)}, the rows of the gallery")
    check_finite(query, side="query")
    check_finite(gallery, side="gallery")
    bounds = block_bounds(
        len(query), len(gallery), QUERY_ROWS if block_size is None else block_size
    )
    if backend == "faiss":
        return _by_faiss(query, gallery, k, distance, bounds)
    distances_to = GalleryDistance(gallery, metric=distance)
    return _joined([_exact(query[start:stop], distances_to, k) for start, stop in bounds], k)


def _exact(query: Tensor, distances_to: GalleryDistance, k: int) -> tuple[Tensor, Tensor]:
    """Go through the gallery part by part; keep the best so far."""
    num_gallery = distances_to.num_gallery
    step = max(1, SEARCH_VALUES // len(query))
    best: tuple[Tensor, Tensor] | None = None
    for start in range(0, num_gallery, step):
        block = distances_to.to_rows(query, start, min(start + step, num_gallery))
        if best is None:
            best = smallest(block, min(k, block.shape[1]))
            continue
        values, rows = best
        # Later rows lose ties, so only what is nearer than the k-th changes anything.
        is_full = values.shape[1] == k
        better = block.amin(dim=1) < values[:, -1] if is_full else torch.ones_like(block[:, 0]) > 0
        changed = torch.nonzero(better).flatten()
        new_values, new_rows = smallest(block[changed], min(k, block.shape[1]))
        new_values = torch.cat([values[changed], new_values], dim=1)
        new_rows = torch.cat([rows[changed], new_rows + start], dim=1)
        # Rows of the parts before stand first: ties are decided as in the whole gallery.
        new_values, places = smallest(new_values, min(k, new_values.shape[1]))
        new_rows = new_rows.gather(1, places)
        if is_full:
            values[changed], rows[changed] = new_values, new_rows
        else:
            best = new_values, new_rows
    assert best is not None
    return best


def _by_faiss(
    query: Tensor, gallery: Tensor, k: int, distance: DistanceName, bounds: list[tuple[int, int]]
) -> Nearest:
    blocks = []
    distances_to: GalleryDistance | None = None
    for start, stop in bounds:
        part = query[start:stop]
        values, rows, is_decided = faiss_candidates(part, gallery, k, distance=distance)
        again = torch.nonzero(~is_decided).flatten()
        if len(again):
            distances_to = distances_to or GalleryDistance(gallery, metric=distance)
            found = _exact(part[again.to(part.device)], distances_to, k)
            values[again], rows[again] = found[0].cpu(), found[1].cpu()
        blocks.append((values, rows))
    return _joined(blocks, k)


def _joined(blocks: list[tuple[Tensor, Tensor]], k: int) -> Nearest:
    distances = [values.cpu().numpy() for values, _ in blocks]
    rows = [found.cpu().numpy() for _, found in blocks]
    return Nearest(
        np.concatenate([np.empty((0, k), dtype=np.float32), *distances]),
        np.concatenate([np.empty((0, k), dtype=np.int64), *rows]),
    )
