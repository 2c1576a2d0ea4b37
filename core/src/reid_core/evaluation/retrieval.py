"""Retrieval: mAP, mINP and CMC of queries against a gallery, one block of queries at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from torch import Tensor

from reid_core.errors import DataError, UsageError
from reid_core.evaluation.coverage import coverage_of
from reid_core.evaluation.distances.blocks import block_bounds
from reid_core.evaluation.distances.distance import DistanceName
from reid_core.evaluation.embeddings import Embeddings, Labels
from reid_core.evaluation.given_distances import given_searches
from reid_core.evaluation.matches import Distances, MatchFinder, join
from reid_core.evaluation.metrics.further_metrics import is_mostly_tied
from reid_core.evaluation.metrics.identity_ranks import identity_cumulative_match
from reid_core.evaluation.metrics.rank_metrics import (
    average_precision,
    cumulative_match,
    group_ties,
    inverse_negative_penalty,
)
from reid_core.evaluation.metrics.single_shot import evaluate_single_shot
from reid_core.evaluation.protocols import Protocol
from reid_core.evaluation.rerankers import Reranker
from reid_core.evaluation.rerankers.notes import note_few_matches
from reid_core.evaluation.result import NAMED_RANKS, RetrievalResult
from reid_core.evaluation.search import ROWS, Search, searches
from reid_core.evaluation.trials import deviations_of, mean_of_trials


def evaluate_retrieval(
    query: Embeddings,
    gallery: Embeddings,
    *,
    distance: DistanceName = "cosine",
    protocol: Protocol,
    rerankers: Sequence[Reranker] = (),
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
        protocol: What is compared, and which gallery entries count for a query.
        rerankers: What is done with embeddings or distances first, in this order.
        max_rank: Length of the CMC, at least 10.
        block_size: Queries a block; None keeps a block near 32 MB. It changes no figure, on a
            GPU none beyond what float32 rounding may swap.

    Returns:
        The figures, and what they were counted over.

    Raises:
        DataError: Features differ in width or are not finite, or no query has a valid match.
        UsageError: ``max_rank``, ``block_size`` or ``distance`` is out of range.
        PluginError: The protocol's answer is not an array of bool of the right shape.
    """
    made = searches(query, gallery, distance=distance, protocol=protocol, rerankers=rerankers)
    return evaluate_searches(
        made, num_rows=len(query) + len(gallery), max_rank=max_rank, block_size=block_size
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
        UsageError: ``max_rank`` or ``block_size`` is out of range, or the protocol needs distances
            that the matrix does not hold.
        PluginError: The protocol's answer is not an array of bool of the right shape.
    """
    matrix = distances.detach().cpu().numpy() if isinstance(distances, Tensor) else distances
    if matrix.shape != (len(query), len(gallery)):
        raise DataError(
            f"distances are {matrix.shape}; expected {(len(query), len(gallery))}, "
            "one row a query and one column a gallery entry"
        )
    made = given_searches(matrix, query, gallery, protocol=protocol, distance=distance)
    return evaluate_searches(
        made, num_rows=len(query) + len(gallery), max_rank=max_rank, block_size=block_size
    )


def evaluate_search(
    search: Search, *, max_rank: int = 50, block_size: int | None = None
) -> RetrievalResult:
    """Evaluate one search, for example one trial of a protocol that draws.

    Args:
        search: Labels, distances and the rule.
        max_rank: Length of the CMC, at least 10.
        block_size: Queries a block; None chooses one. It changes no figure.

    Returns:
        The figures, and what they were counted over; arrays are in the order of the queries.

    Raises:
        DataError: A distance is not finite, or no query has a valid match.
        UsageError: ``max_rank`` or ``block_size`` is out of range.
        PluginError: The protocol's answer is not an array of bool of the right shape.
    """
    if max_rank < NAMED_RANKS[-1]:
        raise UsageError(
            f"max_rank is {max_rank}; expected at least {NAMED_RANKS[-1]}, "
            f"because results name the ranks {NAMED_RANKS}"
        )
    query, gallery, protocol = search.query, search.gallery, search.protocol
    finder = MatchFinder(gallery, protocol=protocol)
    bounds = block_bounds(len(query), len(gallery), block_size)
    ranks = join(
        [
            finder.rank(search.distances(start, stop), query.block(start, stop))
            for start, stop in bounds
        ]
    )
    coverage = coverage_of(ranks.num_matches, query, gallery, protocol)
    coverage.require_valid()
    groups = group_ties(ranks)
    ap = average_precision(groups, ranks.num_matches)
    inp = inverse_negative_penalty(groups, ranks.num_matches)
    result = RetrievalResult(
        mAP=float(np.nanmean(ap)),
        mINP=float(np.nanmean(inp)),
        cmc=cumulative_match(groups, max_rank=max_rank),
        ap=ap,
        inp=inp,
        num_matches=ranks.num_matches,
        num_candidates=ranks.num_candidates,
        num_gallery=search.num_gallery,
        protocol=protocol.name,
        protocol_description=protocol.description,
        distance=search.distance,
        postprocessing=search.postprocessing,
        num_unknown=coverage.num_unknown,
        num_tied=int(np.count_nonzero(is_mostly_tied(groups, ranks.num_candidates))),
    )
    if protocol.scoring == "identities":
        cmc = identity_cumulative_match(search, max_rank=max_rank, block_size=block_size)
        return replace(result, cmc=cmc)
    if protocol.scoring == "single_shot":
        return _single_shot(result, search, max_rank, block_size)
    return result


def evaluate_searches(
    made: Iterable[Search], *, num_rows: int, max_rank: int = 50, block_size: int | None = None
) -> RetrievalResult:
    """Evaluate the searches of a test set, and average where they are trials.

    Args:
        made: What :func:`searches` gave, all of it.
        num_rows: Rows of the test set, queries and gallery.
        max_rank: Length of the CMC, at least 10.
        block_size: Queries a block; None chooses one. It changes no figure.

    Returns:
        The figures, and what they were counted over.

    Raises:
        DataError: A distance is not finite, or no query has a valid match.
        UsageError: ``max_rank`` or ``block_size`` is out of range.
        PluginError: The protocol's answer is not an array of bool of the right shape.
    """
    results: list[RetrievalResult] = []
    rows, has_trials = [], False
    for search in made:
        # Only here, because other figures of the set ask for its searches again.
        if search.postprocessing and not results:
            note_few_matches(search.query, search.gallery, search.protocol)
        results.append(evaluate_search(search, max_rank=max_rank, block_size=block_size))
        rows.append(np.asarray(search.query.columns[ROWS], dtype=np.int64))
        has_trials = search.trial is not None
    return mean_of_trials(results, rows, num_rows=num_rows) if has_trials else results[0]


def _single_shot(
    plain: RetrievalResult, search: Search, max_rank: int, block_size: int | None
) -> RetrievalResult:
    """Put single-shot figures in the place of those over all matches, which keep a name."""
    draws = search.protocol.draws()
    found = evaluate_single_shot(search, draws=draws, max_rank=max_rank, block_size=block_size)
    result = replace(
        plain,
        mAP=float(np.nanmean(found.ap)),
        mINP=float(np.nanmean(found.ap)),
        cmc=found.cmc,
        ap=found.ap,
        inp=found.ap,
        num_matches=np.minimum(plain.num_matches, 1),
        num_candidates=found.num_identities,
        num_trials=draws.number if draws else 1,
        further={"mAP_all_matches": plain.mAP},
    )
    if draws is None or draws.number < 2:
        return result
    scalars = [
        {**replace(result, mAP=ap, mINP=ap, cmc=cmc, further={}).scalars()}
        for ap, cmc in zip(found.ap_of_draws.tolist(), found.cmc_of_draws, strict=True)
    ]
    return replace(result, deviations=deviations_of(scalars))
