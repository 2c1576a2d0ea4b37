"""A test set that was evaluated, with all that further figures and lists are made from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from reid_core.engine.results import Evaluation, feature_words
from reid_core.evaluation import (
    DistanceName,
    Embeddings,
    Protocol,
    Reranker,
    RetrievalResult,
    Search,
    searches,
)
from reid_core.evaluation.files.embedding_set import EmbeddingSet


@dataclass(frozen=True, eq=False)
class EvaluatedSet:
    """A test set and its figures.

    Args:
        embeddings: The embeddings, and what their source calls each row.
        protocol: The rule it was evaluated by.
        distance: Name of the distance.
        rerankers: What was done for the second figures; empty without.
        results: The plain figures, and then those after the rerankers if there are any.
        evaluations: The same as records.
        describe: What is known of a row, queries before gallery: path, pid, camid and how to show
            it.
        search: The search of the re-ranked figures, as in :class:`Measurement`.
    """

    embeddings: EmbeddingSet
    protocol: Protocol
    distance: DistanceName
    rerankers: tuple[Reranker, ...]
    results: tuple[RetrievalResult, ...]
    evaluations: tuple[Evaluation, ...]
    describe: Callable[[int], Mapping[str, object]] = field(repr=False)
    search: Search | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """What the set is called in results."""
        return self.embeddings.name

    @property
    def query(self) -> Embeddings:
        """Embeddings of the queries."""
        return self.embeddings.query

    @property
    def gallery(self) -> Embeddings:
        """Embeddings of the gallery."""
        return self.embeddings.gallery

    @property
    def features(self) -> str:
        """How its embeddings were made, in one line; empty where it is the plain way."""
        evaluation = self.evaluations[0]
        parts = [feature_words(evaluation.test_feature), evaluation.features]
        return "; ".join(part for part in parts if part)

    def searches(self, *, is_reranked: bool = False) -> Iterator[Search]:
        """Make the searches that its figures were measured on, one a trial.

        Where a protocol does not draw, re-ranking was done once and its result is kept.

        Args:
            is_reranked: Whether the rerankers are applied.
        """
        if is_reranked and self.search is not None:
            return iter([self.search])
        return searches(
            self.query,
            self.gallery,
            distance=self.distance,
            protocol=self.protocol,
            rerankers=self.rerankers if is_reranked else (),
        )


@dataclass(frozen=True, eq=False)
class EvaluatedSets:
    """What an evaluation of several test sets gave.

    Args:
        sets: Each set, in the order of the configuration.
        combined: All sets as one, where the configuration asks for it.
    """

    sets: tuple[EvaluatedSet, ...]
    combined: EvaluatedSet | None = None

    @property
    def all(self) -> tuple[EvaluatedSet, ...]:
        """Each set, and all of them as one at the end."""
        return self.sets if self.combined is None else (*self.sets, self.combined)

    @property
    def evaluations(self) -> list[Evaluation]:
        """All records: set by set, plain before reranked, all sets as one at the end."""
        return [evaluation for evaluation, _ in self.with_results()]

    def with_results(self) -> Iterator[tuple[Evaluation, RetrievalResult]]:
        """Yield each record with what it was made from."""
        for each in self.all:
            yield from zip(each.evaluations, each.results, strict=True)
