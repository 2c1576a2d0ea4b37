"""The figures of embeddings, plain and re-ranked, with the search that re-ranking made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from reid_core.evaluation import (
    DistanceName,
    Embeddings,
    Protocol,
    Reranker,
    RetrievalResult,
    Search,
    searches,
)
from reid_core.evaluation.retrieval import evaluate_searches


@dataclass(frozen=True, eq=False)
class Measurement:
    """What was measured on embeddings.

    Args:
        results: The plain figures, and then those after the rerankers if there are any.
        search: The search of the re-ranked figures, so that nothing is re-ranked again for details
            and rank lists. None without rerankers, and where the protocol draws: the searches of
            all trials together have no bound in memory, so each is made again when it is needed.
    """

    results: tuple[RetrievalResult, ...]
    search: Search | None = field(default=None, repr=False)


def measure_embeddings(
    query: Embeddings,
    gallery: Embeddings,
    *,
    distance: DistanceName,
    protocol: Protocol,
    rerankers: Sequence[Reranker] = (),
) -> Measurement:
    """Measure embeddings as they are, and after the rerankers if there are any.

    Args:
        query: Q queries.
        gallery: G gallery entries.
        distance: ``cosine`` or ``euclidean``.
        protocol: What is compared, and which gallery entries count.
        rerankers: What is done for the second figures.

    Raises:
        DataError: Features differ in width or are not finite, or no query has a valid match.
        UsageError: The distance has another name, or the rerankers another order.
        PluginError: The protocol answers wrongly.
    """
    num_rows = len(query) + len(gallery)
    kept: list[Search] = []
    results = []
    for chain in [(), tuple(rerankers)] if rerankers else [()]:
        made = searches(query, gallery, distance=distance, protocol=protocol, rerankers=chain)
        noted = _keeping(made, kept) if chain else made
        results.append(evaluate_searches(noted, num_rows=num_rows))
    return Measurement(tuple(results), kept[0] if kept else None)


def _keeping(made: Iterable[Search], kept: list[Search]) -> Iterator[Search]:
    for search in made:
        if search.trial is None:
            kept.append(search)
        yield search
