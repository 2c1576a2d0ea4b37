"""Searching by FAISS, part of the gallery by part, with distances that are ours."""

from __future__ import annotations

from types import ModuleType

import torch
import torch.nn.functional as F
from torch import Tensor

from reid_core.errors import DataError
from reid_core.evaluation.distances.distance import COSINE_FLOOR, DistanceName, unit_rows
from reid_core.evaluation.distances.neighbours import smallest

#: Values of the gallery that are handed over at a time, 128 MB of float32.
GALLERY_VALUES = 2**25
#: Values that are gathered to compute distances again, 64 MB of float32.
GATHERED_VALUES = 2**24
#: Candidates beyond the k asked for: they show whether rounding may have decided.
SPARE = 8
#: Distances that are nearer to each other than this, as a share of the larger or as such, are in
#: the order in which rounding left them.
ROUNDING = 1e-5


def faiss_candidates(
    query: Tensor, gallery: Tensor, k: int, *, distance: DistanceName
) -> tuple[Tensor, Tensor, Tensor]:
    """Find the k nearest rows of a gallery by FAISS.

    FAISS names candidates, a few more than k; their distances are computed again from the features,
    so that copies of one vector are at one distance, and sorted by distance and row.

    Args:
        query: (Q, D) floating point.
        gallery: (G, D) floating point.
        k: Rows a query, 1 to G.
        distance: ``cosine`` or ``euclidean``.

    Returns:
        (Q, k) float32 distances, (Q, k) int64 rows, and (Q,) bool: False where a row that FAISS
        left out may be as near as the k-th. All on the host.

    Raises:
        DataError: FAISS is not installed.
    """
    faiss = _faiss()
    query = query.detach().cpu().float()
    origin = gallery[: SPARE * 128].detach().cpu().float().mean(dim=0)
    asked = min(k + SPARE, len(gallery))
    best = torch.empty(len(query), 0), torch.empty(len(query), 0, dtype=torch.int64)
    step = max(asked, GALLERY_VALUES // max(1, query.shape[1]))
    for start in range(0, len(gallery), step):
        part = gallery[start : start + step].detach().cpu().float()
        scores, rows = _search(faiss, query, part, min(asked, len(part)), distance, origin)
        values = torch.cat([best[0], scores], dim=1)
        both = torch.cat([best[1], rows + start], dim=1)
        values, places = smallest(values, min(asked, values.shape[1]))
        best = values, both.gather(1, places)
    rows = best[1].sort(dim=1).values
    distances, places = smallest(_distances(query, gallery, rows, distance), asked)
    rows = rows.gather(1, places)
    limit = distances[:, k - 1] + ROUNDING * distances[:, k - 1].clamp(min=1.0)
    is_decided = distances[:, -1] > limit if asked < len(gallery) else torch.ones(len(query)) > 0
    return distances[:, :k].contiguous(), rows[:, :k].contiguous(), is_decided


def _search(
    faiss: ModuleType, query: Tensor, part: Tensor, k: int, distance: DistanceName, origin: Tensor
) -> tuple[Tensor, Tensor]:
    """Return scores, smaller is nearer, and rows of the part."""
    if distance == "cosine":
        sides, metric, sign = (unit_rows(query), unit_rows(part)), "METRIC_INNER_PRODUCT", -1
    else:
        sides, metric, sign = (query - origin, part - origin), "METRIC_L2", 1
    # What an IndexFlat does, without its copy of the gallery.
    values, rows = faiss.knn(
        *(side.contiguous().numpy() for side in sides), k, metric=getattr(faiss, metric)
    )
    return torch.from_numpy(values) * sign, torch.from_numpy(rows)


def _distances(query: Tensor, gallery: Tensor, rows: Tensor, distance: DistanceName) -> Tensor:
    step = max(1, GATHERED_VALUES // max(1, query.shape[1] * rows.shape[1]))
    parts = []
    for start in range(0, len(query), step):
        side, wanted = query[start : start + step], rows[start : start + step]
        found = gallery[wanted.to(gallery.device)].detach().cpu().float()
        if distance == "euclidean":
            parts.append(torch.linalg.vector_norm(found - side[:, None], dim=2))
            continue
        angle = (unit_rows(found) * unit_rows(side)[:, None]).sum(dim=2)
        parts.append(F.threshold(1 - angle, COSINE_FLOOR, 0.0))
    return torch.cat(parts) if parts else torch.empty(rows.shape)


def _faiss() -> ModuleType:
    try:
        import faiss
    except ImportError as error:
        raise DataError(
            "searching by FAISS needs the package faiss; type: pip install 'reid-core[faiss]'; or "
            "leave the backend at exact, which needs nothing"
        ) from error
    module: ModuleType = faiss
    return module
