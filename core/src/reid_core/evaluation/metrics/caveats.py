"""What makes figures say less than they seem to: ties, chance, embeddings that are one point."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F

from reid_core.evaluation.distances.distance import DistanceName
from reid_core.evaluation.embeddings import Embeddings

#: With fewer queries a rank-1 near chance may be luck.
MIN_QUERIES = 20
#: Standard deviations above chance up to which a rank-1 is at chance level.
CHANCE_DEVIATIONS = 2.0
#: Embeddings that vary by less than this share of their length are one point.
MIN_SPREAD = 0.01
#: Rows that show whether embeddings vary.
SAMPLE_ROWS = 4096


def tie_caveat(num_tied: int, num_queries: int) -> str | None:
    """Return a warning that most distances are tied, or None.

    Args:
        num_tied: Queries for which most of the gallery ties with a match.
        num_queries: Queries with a match.
    """
    if not num_tied:
        return None
    return (
        f"most distances are tied for {num_tied} of {num_queries} queries: figures are means over "
        "all orders of tied entries, and say little; look for equal or collapsed embeddings"
    )


def chance_caveat(rank1: float, chance: float, num_queries: int) -> str | None:
    """Return a warning that rank-1 is at chance level, or None.

    Args:
        rank1: The rank-1.
        chance: That of embeddings without information.
        num_queries: Queries with a match; few ones tell nothing.
    """
    if num_queries < MIN_QUERIES:
        return None
    deviation = math.sqrt(chance * (1 - chance) / num_queries)
    if rank1 > chance + CHANCE_DEVIATIONS * deviation or chance >= 1:
        return None
    return (
        f"rank1 is at chance level: {100 * rank1:.2f} %, and embeddings without any information "
        f"have {100 * chance:.2f} %"
    )


def collapse_caveat(
    query: Embeddings, gallery: Embeddings, *, distance: DistanceName = "cosine"
) -> str | None:
    """Return a warning that all embeddings are nearly one point, or None.

    Args:
        query: Q queries.
        gallery: G gallery entries.
        distance: What they are compared by; under ``cosine`` their lengths do not count.
    """
    parts = [side.features[:: max(1, len(side) // SAMPLE_ROWS)] for side in (query, gallery)]
    features = torch.cat([part.float().cpu() for part in parts])
    if distance == "cosine":
        features = F.normalize(features)
    size = float(features.square().sum(dim=1).mean())
    spread = float((features - features.mean(dim=0)).square().sum(dim=1).mean())
    if len(features) < 2 or not spread <= MIN_SPREAD**2 * size:
        return None
    return (
        "embeddings are nearly one point: they vary by less than "
        f"{100 * MIN_SPREAD:g} % of their length, so that the model tells nothing apart"
    )
