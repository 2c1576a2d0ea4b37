"""Retrieval: mAP, mINP and CMC of queries against a gallery, one block of queries at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from reid_core.errors import DataError, UsageError
from reid_core.evaluation.blocks import block_bounds
from reid_core.evaluation.coverage import coverage_of
from reid_core.evaluation.distance import DistanceName, GalleryDistance, check_same_width
from reid_core.evaluation.embeddings import Embeddings, Labels
from reid_core.evaluation.matches import Distances, MatchFinder, join
from reid_core.evaluation.metrics import (
    average_precision,
    cumulative_match,
    group_ties,
    inverse_negative_penalty,
)
from reid_core.evaluation.protocols import Protocol
from reid_core.evaluation.result import NAMED_RANKS, RetrievalResult

#: Distances of the queries from one row up to another, to all of the gallery.
BlockSource = Callable[[int, int], Distances]


def evaluate_retrieval(
    query: Embeddings,
    gallery: Embeddings,
    *,
    distance: DistanceName = "cosine",
    protocol: Protocol,
    max_rank: int = 50,
    block_size: int | None = None,
) -> RetrievalResult:
    """Evaluate how well queries find their identities in a gallery.

    Queries are taken in blocks: memory is that of one block of distances, and the full (Q, G)
    matrix never exists. Products run where the gallery's features are; ranks are found on the
    host. Entries at equal distance count by what they give on average over all their orders, so
    that no figure depends on the order of the gallery's rows.

    Args:
        query: Q queries.
        gallery: G gallery entries.
        distance: ``cosine`` or ``euclidean``, see :func:`pairwise_distance`.
        protocol: Which gallery entries count for a query.
        max_rank: Length of the CMC, at least 10.
        block_size: Queries a block; None keeps a block near 16 MB. It changes no figure, on a
            GPU none beyond what float32 rounding may swap.

    Returns:
        The figures, and what they were counted over.

    Raises:
        DataError: Features differ in width or are not finite, or no query has a valid match.
        UsageError: ``max_rank``, ``block_size`` or ``distance`` is out of range.
        PluginError: The protocol's answer is not an array of bool of the right shape.
    """
    check_same_width(query.features, gallery.features)
    check_finite(query.features, side="query")
    check_finite(gallery.features, side="gallery")
    distances_to = GalleryDistance(gallery.features, metric=distance)

    def block(start: int, stop: int) -> Distances:
        return np.asarray(distances_to(query.features[start:stop]).cpu().numpy())

    return _evaluate(
        block,
        query.labels,
        gallery.labels,
        protocol=protocol,
        max_rank=max_rank,
        block_size=block_size,
        distance=distance,
    )


def evaluate_distances(
    distances: Distances | Tensor,
    query: Labels,
    gallery: Labels,
    *,
    protocol: Protocol,
    max_rank: int = 50,
    block_size: int | None = None,
    distance: str = "given",
) -> RetrievalResult:
    """Evaluate distances that exist already, for example after re-ranking.

    Args:
        distances: (Q, G) float32 or float64; smaller is nearer.
        query: Labels of the Q queries.
        gallery: Labels of the G gallery entries.
        protocol: Which gallery entries count for a query.
        max_rank: Length of the CMC, at least 10.
        block_size: Queries a block; None chooses one. It changes no figure.
        distance: What the distances are called in the result.

    Returns:
        The figures, and what they were counted over.

    Raises:
        DataError: The shape does not fit the labels, a distance is not finite, or no query has a
            valid match.
        UsageError: ``max_rank`` or ``block_size`` is out of range.
        PluginError: The protocol's answer is not an array of bool of the right shape.
    """
    matrix = distances.detach().cpu().numpy() if isinstance(distances, Tensor) else distances
    if matrix.shape != (len(query), len(gallery)):
        raise DataError(
            f"distances are {matrix.shape}; expected {(len(query), len(gallery))}, "
            "one row a query and one column a gallery entry"
        )
    return _evaluate(
        lambda start, stop: matrix[start:stop],
        query,
        gallery,
        protocol=protocol,
        max_rank=max_rank,
        block_size=block_size,
        distance=distance,
    )


def check_finite(features: Tensor, *, side: str) -> None:
    """Refuse features that a diverged model gives: they sort last and look like a low score.

    Args:
        features: (N, D) floating point.
        side: ``query`` or ``gallery``, for the message.

    Raises:
        DataError: A value is NaN or infinite, or a row is too long for float32.
    """
    # The norm shows every NaN and infinity, and makes no copy of the features.
    with torch.no_grad():
        norms = torch.linalg.vector_norm(features.float(), dim=1)
    bad_rows = torch.nonzero(~torch.isfinite(norms)).flatten()
    if not len(bad_rows):
        return
    num_values = int((~torch.isfinite(features[bad_rows])).sum())
    raise DataError(
        f"{side} embeddings: {len(bad_rows)} of {len(features)} rows are not finite in float32 "
        f"({num_values} values are NaN or infinite), the first is row {int(bad_rows[0])}; "
        "no score is given for them: the model has diverged or its input is damaged, so check the "
        "training loss, and in half precision the range of the activations"
    )


def _evaluate(
    block: BlockSource,
    query: Labels,
    gallery: Labels,
    *,
    protocol: Protocol,
    max_rank: int,
    block_size: int | None,
    distance: str,
) -> RetrievalResult:
    if max_rank < NAMED_RANKS[-1]:
        raise UsageError(
            f"max_rank is {max_rank}; expected at least {NAMED_RANKS[-1]}, "
            f"because results name the ranks {NAMED_RANKS}"
        )
    finder = MatchFinder(gallery, protocol=protocol)
    bounds = block_bounds(len(query), len(gallery), block_size)
    ranks = join(
        [finder.rank(block(start, stop), query.block(start, stop)) for start, stop in bounds]
    )
    coverage_of(ranks.num_matches, query, gallery, protocol).require_valid()
    groups = group_ties(ranks)
    ap = average_precision(groups, ranks.num_matches)
    inp = inverse_negative_penalty(groups, ranks.num_matches)
    return RetrievalResult(
        mAP=float(np.nanmean(ap)),
        mINP=float(np.nanmean(inp)),
        cmc=cumulative_match(groups, max_rank=max_rank),
        ap=ap,
        inp=inp,
        num_matches=ranks.num_matches,
        num_candidates=ranks.num_candidates,
        num_gallery=len(gallery),
        protocol=protocol.name,
        protocol_description=protocol.description,
        distance=distance,
    )
