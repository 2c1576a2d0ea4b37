"""Average precision by the query's camera and the camera of the gallery entries."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from reid_core.evaluation.detail import CameraPairs
from reid_core.evaluation.matches import Distances, MatchRanks
from reid_core.evaluation.metrics.pair_blocks import PairBlock, pair_blocks
from reid_core.evaluation.metrics.rank_metrics import average_precision, group_ties
from reid_core.evaluation.search import Search

#: With more cameras nobody reads the table, and making it takes long.
MAX_CAMERAS = 64


class CameraPairTable:
    """Mean AP of each pair of cameras.

    For a query, the gallery of one camera is ranked by itself, as if there were no other; matches
    and mistakes of other cameras do not count. Queries without a match there are left out.

    Args:
        query_camids: The cameras of the queries, in any order and as often as wanted.
        gallery_camids: The same of the gallery.
    """

    def __init__(self, query_camids: NDArray[np.int64], gallery_camids: NDArray[np.int64]) -> None:
        self._rows = np.unique(query_camids)
        self._columns = np.unique(gallery_camids)
        shape = (len(self._rows), len(self._columns))
        self._sums, self._counts = np.zeros(shape), np.zeros(shape, dtype=np.int64)

    @property
    def is_readable(self) -> bool:
        """Whether there are few enough cameras for a table."""
        return max(self._sums.shape) <= MAX_CAMERAS

    def add(self, block: PairBlock) -> None:
        """Take the pairs of some queries."""
        row = np.searchsorted(self._rows, block.query.camids)
        camids = block.gallery.camids
        # Cameras side by side, so that each is a plain slice.
        order = np.argsort(camids, kind="stable")
        bounds = np.searchsorted(camids[order], self._columns, side="left").tolist()
        stops = np.searchsorted(camids[order], self._columns, side="right").tolist()
        distances, allowed = block.distances[:, order], block.allowed[:, order]
        for column, (start, stop) in enumerate(zip(bounds, stops, strict=True)):
            camera = self._columns[column]
            matched = [
                np.sort(values[rows[camids[rows] == camera]])
                for values, rows in zip(block.distances, block.matches, strict=True)
            ]
            ap = _average_precision(distances[:, start:stop], allowed[:, start:stop], matched)
            known = ~np.isnan(ap)
            np.add.at(self._sums[:, column], row[known], ap[known])
            np.add.at(self._counts[:, column], row[known], 1)

    def table(self, names: Mapping[int, str] | None = None) -> CameraPairs:
        """Return the means; cameras without any query or match are left out.

        Args:
            names: Name of each camera; the number itself where there is none.
        """
        told = names or {}
        rows, columns = self._counts.any(axis=1), self._counts.any(axis=0)
        sums, counts = (part[rows][:, columns].tolist() for part in (self._sums, self._counts))
        means = [
            [total / count if count else None for total, count in zip(*row, strict=True)]
            for row in zip(sums, counts, strict=True)
        ]
        return CameraPairs(
            query_cameras=[told.get(one, str(one)) for one in self._rows[rows].tolist()],
            gallery_cameras=[told.get(one, str(one)) for one in self._columns[columns].tolist()],
            ap=means,
            num_queries=counts,
        )


def camera_pairs(search: Search, names: Mapping[int, str] | None = None) -> CameraPairs:
    """Measure the average precision of each pair of cameras.

    Args:
        search: Labels, distances and the rule.
        names: Name of each camera; the number itself where there is none.

    Returns:
        A row a camera of queries, a column a camera of the gallery, in ascending order.
    """
    table = CameraPairTable(search.query.camids, search.gallery.camids)
    for block in pair_blocks(search):
        table.add(block)
    return table.table(names)


def _average_precision(
    distances: Distances, allowed: NDArray[np.bool_], matched: list[Distances]
) -> NDArray[np.float64]:
    """Return the AP of each query in a part of the gallery; NaN where it has no match there."""
    num_matches = np.array([len(row) for row in matched], dtype=np.int64)
    query = np.flatnonzero(num_matches)
    before, upto = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for row in query.tolist():
        near = distances[row] <= matched[row][-1]
        near &= allowed[row]
        candidates = np.sort(distances[row][near])
        before.append(np.searchsorted(candidates, matched[row], side="left"))
        upto.append(np.searchsorted(candidates, matched[row], side="right"))
    first = np.concatenate(before)
    ranks = MatchRanks(
        query=np.repeat(np.arange(len(matched)), num_matches),
        before=first,
        tied=np.concatenate(upto) - first,
        num_matches=num_matches,
        num_candidates=num_matches,
    )
    return average_precision(group_ties(ranks), num_matches)
