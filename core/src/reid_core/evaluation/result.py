"""What an evaluation answers: the figures, what they were counted over, and by which rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from reid_core.errors import UsageError
from reid_core.evaluation.metrics.caveats import chance_caveat, tie_caveat

#: Ranks that every result names.
NAMED_RANKS = (1, 5, 10)


@dataclass(frozen=True, eq=False)
class RetrievalResult:
    """Figures of one retrieval. All are fractions from 0 to 1, means over the valid queries.

    Args:
        mAP: Mean average precision: the mean of the precision at each match, not interpolated.
        mINP: Mean inverse negative penalty: number of matches over the rank of the last one.
        cmc: (max_rank,) float64, share of queries with a match within the first k entries, k from
            1; it keeps its last value where the gallery is smaller.
        ap: (Q,) float64 average precision a query, NaN where it was skipped.
        inp: (Q,) float64 inverse negative penalty a query, NaN where it was skipped.
        num_matches: (Q,) int64 valid matches a query, 0 where it was skipped.
        num_candidates: (Q,) int64 gallery entries that counted for a query.
        num_gallery: Gallery entries given, junk included.
        protocol: Name of the protocol.
        protocol_description: Its rule in one line.
        distance: Name of the distance.
        postprocessing: What was done before the figures were made (re-ranking), in this order.
        num_trials: Draws that the figures are means over. With more than one, or where a protocol
            cuts the set anew, the arrays have an entry for each row of the test set, queries before
            gallery: the mean over the trials in which the row was a query.
        num_asked: Queries of a trial, a rounded mean, where the arrays have an entry for each row
            of the test set; None is an entry a query.
        num_valid: The same of those with a valid match.
        num_unknown: Queries without a valid match that are part of the measurement (open set).
        further: Figures of this protocol alone, by name.
        deviations: Standard deviation over the draws of each figure, by name.
        num_tied: Valid queries for which most of the gallery ties with a match.
    """

    mAP: float  # noqa: N815 - the field's spelling
    mINP: float  # noqa: N815 - the field's spelling
    cmc: NDArray[np.float64]
    ap: NDArray[np.float64]
    inp: NDArray[np.float64]
    num_matches: NDArray[np.int64]
    num_candidates: NDArray[np.int64]
    num_gallery: int
    protocol: str
    protocol_description: str
    distance: str
    postprocessing: tuple[str, ...] = ()
    num_trials: int = 1
    num_asked: int | None = None
    num_valid: int | None = None
    num_unknown: int = 0
    further: Mapping[str, float] = field(default_factory=dict)
    deviations: Mapping[str, float] = field(default_factory=dict)
    num_tied: int = 0

    @property
    def num_queries(self) -> int:
        """Queries given."""
        return len(self.ap) if self.num_asked is None else self.num_asked

    @property
    def num_valid_queries(self) -> int:
        """Queries with a valid match; the means are over these."""
        return int(np.count_nonzero(self.num_matches)) if self.num_valid is None else self.num_valid

    @property
    def num_skipped(self) -> int:
        """Queries without a valid match that are no part of the measurement."""
        return self.num_queries - self.num_valid_queries - self.num_unknown

    @property
    def mean_matches(self) -> float:
        """Valid matches a query, mean over the valid queries."""
        return float(self.num_matches.sum() / np.count_nonzero(self.num_matches))

    @property
    def chance_rank1(self) -> float:
        """The rank-1 that embeddings without any information give on average."""
        is_valid = self.num_matches > 0
        return float((self.num_matches[is_valid] / self.num_candidates[is_valid]).mean())

    def rank(self, k: int) -> float:
        """Return the share of valid queries with a match within the first ``k`` entries.

        Args:
            k: 1 to ``max_rank``.

        Raises:
            UsageError: ``k`` is outside of what was evaluated.
        """
        if not 1 <= k <= len(self.cmc):
            raise UsageError(
                f"rank {k} was not evaluated; expected 1 to {len(self.cmc)}: "
                "pass a larger max_rank to the evaluation"
            )
        return float(self.cmc[k - 1])

    def scalars(self) -> dict[str, float]:
        """Return the figures: ``mAP``, ``mINP``, ``rank1``, ``rank5``, ``rank10``, further ones."""
        ranks = {f"rank{k}": self.rank(k) for k in NAMED_RANKS}
        return {"mAP": self.mAP, "mINP": self.mINP, **ranks, **self.further}

    def warnings(self) -> list[str]:
        """Say why the figures tell less than they seem to: ties, rank-1 at chance level."""
        number = self.num_valid_queries
        found = (
            tie_caveat(self.num_tied, number),
            chance_caveat(self.rank(1), self.chance_rank1, number),
        )
        return [caveat for caveat in found if caveat]

    def summary(self) -> str:
        """Describe the result in two lines: figures in percent, then what they were counted by."""
        figures = "  ".join(f"{name} {100 * value:.2f}" for name, value in self.scalars().items())
        unknown = f", {self.num_unknown} unknown" if self.num_unknown else ""
        return (
            f"{figures}  (chance rank1 {100 * self.chance_rank1:.2f})\n"
            f"protocol {self.protocol}: {self.protocol_description}; {self.distance} distance; "
            f"{self.num_valid_queries} of {self.num_queries} queries valid, "
            f"{self.num_skipped} skipped{unknown}; {self.num_gallery} gallery entries, "
            f"{self.mean_matches:.1f} matches a query"
        )
