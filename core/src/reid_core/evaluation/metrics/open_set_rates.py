"""Open set: searches of people who are not in the gallery, beside searches of those who are."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from reid_core.evaluation.detail import OpenSet
from reid_core.evaluation.metrics.pair_blocks import PairBlock, pair_blocks
from reid_core.evaluation.metrics.verification import NAMED_RATES, verify
from reid_core.evaluation.search import Search

#: False positive identification rates that results name, as they are written.
NAMED_SEARCH_RATES = ("1e-3", "1e-2", "1e-1")


class OpenSetSearches:
    """The nearest answers of searches with and without a mate in the gallery.

    A mate is an entry that counts as a match: a query whose matches the protocol all leaves out has
    none, as in :attr:`RetrievalResult.num_unknown`. A search without a mate has a false positive
    where anything is at most as far as the threshold. A search with a mate misses where none of its
    matches is; what stands before the match does not matter.
    """

    def __init__(self) -> None:
        self._mated: list[NDArray[np.float64]] = []
        self._unmated: list[NDArray[np.float64]] = []

    def add(self, block: PairBlock) -> None:
        """Take the searches of some queries."""
        mates = [
            float(row[columns].min())
            for row, columns in zip(block.distances, block.matches, strict=True)
            if columns.size
        ]
        is_unmated = np.array([not columns.size for columns in block.matches], dtype=bool)
        nearest = np.min(
            block.distances[is_unmated], axis=1, where=block.allowed[is_unmated], initial=np.inf
        )
        self._mated.append(np.array(mates, dtype=np.float64))
        self._unmated.append(nearest.astype(np.float64))

    def rates(self, tpr_at_fpr: Mapping[str, float]) -> OpenSet:
        """Return the error rates.

        Args:
            tpr_at_fpr: True positive rate of pairs by false positive rate; what it lacks to 1 is
                the false non-match rate.

        Returns:
            The rates; without searches of one kind there is none of searches.
        """
        mated = np.concatenate([np.empty(0), *self._mated])
        unmated = np.sort(np.concatenate([np.empty(0), *self._unmated]))
        fnir = {}
        if len(mated) and len(unmated):
            false_positives = np.searchsorted(unmated, mated, side="right")
            for name in NAMED_SEARCH_RATES:
                allowed = int(Fraction(name) * len(unmated))
                fnir[name] = float(np.mean(false_positives > allowed))
        return OpenSet(
            num_mated=len(mated),
            num_unmated=len(unmated),
            fnir_at_fpir=fnir,
            fnmr_at_fmr={name: 1.0 - rate for name, rate in tpr_at_fpr.items()},
        )


def open_set_rates(search: Search) -> OpenSet:
    """Measure open-set errors on a search.

    Args:
        search: Labels, distances and the rule; some queries are of identities that the gallery
            does not hold.

    Returns:
        FNIR at FPIR of searches, FNMR at FMR of pairs.

    Raises:
        DataError: There is no pair of one identity, or none of two.

    Source: ISO/IEC 19795-1, Biometric performance testing and reporting (FNIR, FPIR, FNMR, FMR).
    """
    collected = OpenSetSearches()
    for block in pair_blocks(search):
        collected.add(block)
    rates = verify(search).tpr_at_fpr
    return collected.rates({name: rates[name] for name in NAMED_RATES})
