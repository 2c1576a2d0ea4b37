"""Weighted means of rows and their neighbours, which several rerankers make."""

from __future__ import annotations

import logging
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reid_core.evaluation.distances.blocks import BLOCK_VALUES, MIN_BLOCK_SIZE
from reid_core.evaluation.distances.distance import DistanceName, unit_rows

log = logging.getLogger("reid_core")

#: Values that a step gathers, 16 MB of float32.
GATHERED_VALUES = 2**22

#: Gives rows of the features that neighbours are taken from: (B,) int64 to (B, D).
Gather = Callable[[Tensor], Tensor]


def averages(
    rows: Tensor,
    near: NDArray[np.int32],
    gather: Gather,
    *,
    alpha: float,
    metric: DistanceName,
    with_row: bool = False,
) -> Tensor:
    """Average the neighbours of each row, weighted by their similarity to it.

    A neighbour weighs max(0, cos)^alpha, the cosine of its angle to the row. Under ``cosine`` the
    sum is divided by the number of rows in it, as published, since lengths tell nothing there;
    under ``euclidean`` by the sum of weights. A row whose neighbours all weigh 0 stays as it is.

    Args:
        rows: (N, D) floating point.
        near: (N, k) int32 neighbours of each row.
        gather: Gives the neighbours' features.
        alpha: Exponent, 0 or more; 0 weighs all alike.
        metric: The distance that the set is compared by.
        with_row: Whether the row itself counts once more, with weight 1.

    Returns:
        (N, D) float32 on the rows' device.
    """
    changed = torch.empty(tuple(rows.shape), device=rows.device)
    step = max(1, GATHERED_VALUES // max(1, near.shape[1] * int(rows.shape[1])))
    for start in range(0, len(rows), step):
        own = rows[start : start + step].detach().float()
        block = torch.from_numpy(near[start : start + step].astype(np.int64))
        members = gather(block.flatten()).detach().to(own.device).float()
        members = members.view(len(own), near.shape[1], -1)
        if with_row:
            members = torch.cat([own[:, None], members], dim=1)
        changed[start : start + step] = _average(own, members, alpha=alpha, metric=metric)
    return changed


def available(reranker: str, k: int, num_rows: int) -> int:
    """Return ``k``, or with a warning the number of rows where there are fewer."""
    if k <= num_rows:
        return k
    log.warning("%s: k is %d, and there are %d rows; it takes all of them", reranker, k, num_rows)
    return num_rows


def expansion_bytes(num_changed: int, num_rows: int, width: int, *, k: int, tables: int) -> int:
    """Tell how much memory neighbours and averages add at most.

    Args:
        num_changed: Rows that are changed.
        num_rows: Rows that their neighbours are looked for in.
        width: D.
        k: Neighbours of a row.
        tables: Float32 tables of the changed rows.

    Returns:
        Bytes; one float32 copy of all rows, as ``euclidean`` and half precision need, counts.
    """
    blocks = max(BLOCK_VALUES, MIN_BLOCK_SIZE * num_rows) * 14
    gathered = max(GATHERED_VALUES, (k + 1) * width) * 16
    features = (num_changed * tables + num_rows) * width * 4
    return blocks + gathered + features + num_changed * (k * 8 + 4)


def _average(own: Tensor, members: Tensor, *, alpha: float, metric: DistanceName) -> Tensor:
    # Each side is made a unit vector by itself: the product of two small norms underflows.
    similarity = torch.einsum("bkd,bd->bk", unit_rows(members), unit_rows(own)).clamp_(0, 1)
    weights = similarity.pow_(alpha)
    total = torch.einsum("bk,bkd->bd", weights, members)
    sums = weights.sum(dim=1, keepdim=True)
    divisor = sums if metric == "euclidean" else torch.full_like(sums, members.shape[1])
    return torch.where(sums > 0, total / divisor, own)
