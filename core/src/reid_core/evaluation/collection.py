"""All that is measured on the searches of a test set, in two passes over each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reid_core.errors import DataError
from reid_core.evaluation.matches import MatchRanks
from reid_core.evaluation.metrics.camera_pairs import CameraPairTable
from reid_core.evaluation.metrics.failures import FailureCount
from reid_core.evaluation.metrics.open_set_rates import OpenSetSearches
from reid_core.evaluation.metrics.pair_blocks import pair_blocks
from reid_core.evaluation.metrics.query_figures import QueryFigures, figures_of
from reid_core.evaluation.metrics.roc import RocCounts
from reid_core.evaluation.metrics.verification import SamePairs, roc_counts
from reid_core.evaluation.search import ROWS, Search


class Collection:
    """What the searches of a test set give; of several trials, all together.

    Args:
        cameras: The table that pairs of cameras go into; None where cameras are not known, or
            there are too many.
        query_pids: Identities that are searched for, which tell distractors.
    """

    def __init__(self, cameras: CameraPairTable | None, query_pids: NDArray[np.int64]) -> None:
        self.cameras = cameras
        self.failures = FailureCount(query_pids)
        self.open_set = OpenSetSearches()
        #: A search an entry.
        self.figures: list[QueryFigures] = []
        self.rows: list[NDArray[np.int64]] = []
        self.pids: list[NDArray[np.int64]] = []
        self.counts: list[RocCounts] = []
        #: Why there is no verification.
        self.problem = ""

    def add(self, search: Search) -> None:
        """Measure a search."""
        same = SamePairs()
        ranks: list[MatchRanks] = []
        for block in pair_blocks(search, ranked=True):
            assert block.ranks is not None
            ranks.append(block.ranks)
            same.add(block)
            self.failures.add(block)
            if self.cameras is not None:
                self.cameras.add(block)
            if search.protocol.keeps_unmatched:
                self.open_set.add(block)
        self.figures.append(figures_of(ranks))
        self.rows.append(np.asarray(search.query.columns[ROWS], dtype=np.int64))
        self.pids.append(search.query.pids)
        try:
            edges = self.counts[0].histogram.edges if self.counts else ()
            self.counts.append(roc_counts(search, same=same, edges=edges))
        except DataError as error:
            self.problem = str(error)

    def means(self) -> dict[str, float]:
        """Return the figures of ranking, means over the searches."""
        means = [figures.means() for figures in self.figures]
        return {name: float(np.mean([one[name] for one in means])) for name in means[0]}

    def by_row(self, name: str, num_rows: int) -> NDArray[np.float64]:
        """Return a figure by the row of the query in the test set: the mean over the searches.

        Args:
            name: The figure.
            num_rows: Rows of the test set.

        Returns:
            (num_rows,) float64; NaN for what was never a valid query.
        """
        sums, counts = np.zeros(num_rows), np.zeros(num_rows)
        for figures, rows in zip(self.figures, self.rows, strict=True):
            known = ~np.isnan(figures.values[name])
            np.add.at(sums, rows[known], figures.values[name][known])
            np.add.at(counts, rows[known], 1)
        means = np.full(num_rows, np.nan)
        np.divide(sums, counts, out=means, where=counts > 0)
        return means
