"""The nearest rows of each row, from blocks of distances; no full matrix ever exists."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reid_core.errors import UsageError
from reid_core.evaluation.distances.blocks import block_bounds
from reid_core.evaluation.distances.distance import DistanceName, GalleryDistance, check_same_width

#: Values that the step which decides between tied columns looks at together, 32 MB of int64.
TIE_VALUES = 2**22

#: Distances of rows from one up to, not including, another, to all columns, in one or more parts
#: of columns that follow one another: (B, n) float32 each.
DistanceParts = Callable[[int, int], Iterable[Tensor]]


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The k nearest columns of each of N rows, nearest first; ties in the order of the columns.

    Args:
        columns: (N, k) int32.
        distances: (N, k) float32.
        farthest: (N,) float32, the largest distance of each row to any column.
    """

    columns: NDArray[np.int32]
    distances: NDArray[np.float32]
    farthest: NDArray[np.float32]


def nearest_rows(
    query: Tensor,
    gallery: Tensor,
    *,
    k: int,
    metric: DistanceName = "cosine",
    block_size: int | None = None,
) -> Neighbours:
    """Find the k rows of a gallery that are nearest to each query.

    Args:
        query: (Q, D) floating point.
        gallery: (G, D) floating point; may be ``query`` itself, and a row then finds itself.
        k: Neighbours a query, 1 to G.
        metric: ``cosine`` or ``euclidean``, see :func:`pairwise_distance`.
        block_size: Queries a block; None keeps a block near 32 MB. It changes no result beyond
            what float32 rounding may swap.

    Returns:
        Q rows of k neighbours; of tied ones those with the smaller row.

    Raises:
        DataError: The features differ in width.
        UsageError: ``k``, ``metric`` or ``block_size`` is out of range.
    """
    check_same_width(query, gallery)
    distances_to = GalleryDistance(gallery, metric=metric)
    return nearest_in_blocks(
        lambda start, stop: [distances_to(query[start:stop])],
        (len(query), len(gallery)),
        k=k,
        block_size=block_size,
    )


def nearest_in_blocks(
    parts: DistanceParts, shape: tuple[int, int], *, k: int, block_size: int | None = None
) -> Neighbours:
    """Find the k nearest columns of each row.

    Args:
        parts: Gives the distances of a block of rows; one part is held at a time.
        shape: Number of rows and of columns.
        k: Neighbours a row, 1 to the number of columns.
        block_size: Rows a block; None keeps a block near 32 MB.

    Returns:
        The neighbours of all rows, on the host.

    Raises:
        UsageError: ``k`` or ``block_size`` is out of range.
    """
    num_rows, num_columns = shape
    if not 1 <= k <= num_columns:
        raise UsageError(f"k is {k}; expected 1 to {num_columns}, the rows to choose from")
    columns = np.empty((num_rows, k), dtype=np.int32)
    distances = np.empty((num_rows, k), dtype=np.float32)
    farthest = np.empty(num_rows, dtype=np.float32)
    for start, stop in block_bounds(num_rows, num_columns, block_size):
        best = _nearest_of(parts(start, stop), k)
        for whole, part in zip((columns, distances, farthest), best, strict=True):
            whole[start:stop] = part.cpu().numpy()
    return Neighbours(columns, distances, farthest)


def smallest(block: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Find the k smallest values of each row, as a stable sort of the row would.

    Args:
        block: (B, N) floating point, finite.
        k: 1 to N.

    Returns:
        (B, k) values in ascending order and (B, k) int64 columns; tied values in the order of
        their columns, also where the tie decides which are among the k.
    """
    num_columns = int(block.shape[1])
    # One more than asked for shows whether a tie decides.
    wanted = min(k + 1, num_columns)
    values, columns = torch.topk(block, wanted, dim=1, largest=False)
    is_tied = values[:, k - 1] == values[:, k] if wanted > k else values.new_zeros(len(block)) > 0
    columns = columns[:, :k].sort(dim=1).values
    tied = torch.nonzero(is_tied).flatten()
    step = max(1, TIE_VALUES // num_columns)
    for start in range(0, len(tied), step):
        rows = tied[start : start + step]
        columns[rows] = _first_of_tied(block[rows], values[rows, k - 1], k)
    order = block.gather(1, columns).sort(dim=1, stable=True)
    return order.values, columns.gather(1, order.indices)


def _nearest_of(parts: Iterable[Tensor], k: int) -> tuple[Tensor, Tensor, Tensor]:
    width = 0
    found: list[tuple[Tensor, Tensor]] = []
    farthest: list[Tensor] = []
    for part in parts:
        values, columns = smallest(part, min(k, int(part.shape[1])))
        found.append((values, columns + width))
        farthest.append(part.amax(dim=1))
        width += int(part.shape[1])
    values, columns = (torch.cat(side, dim=1) for side in zip(*found, strict=True))
    # Columns of a later part are larger: a stable sort keeps ties in their order.
    order = values.sort(dim=1, stable=True).indices[:, :k]
    return columns.gather(1, order), values.gather(1, order), torch.stack(farthest).amax(dim=0)


def _first_of_tied(block: Tensor, limit: Tensor, k: int) -> Tensor:
    is_below = block < limit[:, None]
    is_equal = block == limit[:, None]
    room = k - is_below.sum(dim=1, keepdim=True)
    is_taken = is_below | (is_equal & (is_equal.cumsum(dim=1) <= room))
    return torch.nonzero(is_taken)[:, 1].view(len(block), k)
