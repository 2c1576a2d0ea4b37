"""Ranks that count each identity once, at its nearest gallery entry."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reid_core.evaluation.distances.blocks import block_bounds
from reid_core.evaluation.embeddings import Labels
from reid_core.evaluation.matches import Distances, MatchFinder
from reid_core.evaluation.protocols.base import DISTRACTORS
from reid_core.evaluation.search import Search


@dataclass(frozen=True, eq=False)
class Identities:
    """The gallery's entries, sorted by identity. Each distractor is an identity of its own.

    Args:
        order: (G,) int64 entries sorted by identity.
        starts: (P,) int64 place in ``order`` where each identity begins.
        codes: (G,) int64 identity of each entry, 0 to P - 1.
    """

    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    codes: NDArray[np.int64]

    @classmethod
    def of(cls, gallery: Labels) -> Identities:
        """Sort the entries of a gallery."""
        codes = np.unique(gallery.pids, return_inverse=True)[1].astype(np.int64)
        alone = np.flatnonzero(distractors_of(gallery))
        codes[alone] = codes.max(initial=-1) + 1 + np.arange(len(alone))
        codes = np.unique(codes, return_inverse=True)[1].astype(np.int64)
        order = np.argsort(codes, kind="stable")
        starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
        return cls(order, starts, codes)

    def nearest(self, distances: Distances, allowed: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the distance to each identity's nearest entry.

        Args:
            distances: (B, G).
            allowed: (B, G) bool, the entries that count.

        Returns:
            (B, P) float64, infinite where an identity has no entry that counts.
        """
        kept = np.where(allowed, distances, np.inf)[:, self.order]
        return np.asarray(np.minimum.reduceat(kept, self.starts, axis=1), dtype=np.float64)


def distractors_of(labels: Labels) -> NDArray[np.bool_]:
    """Say which rows are distractors, (N,) bool; none where the set does not tell."""
    if DISTRACTORS not in labels.columns:
        return np.zeros(len(labels), dtype=bool)
    return np.asarray(labels.columns[DISTRACTORS], dtype=bool)


def identity_cumulative_match(
    search: Search, *, max_rank: int, block_size: int | None = None
) -> NDArray[np.float64]:
    """Compute the share of queries whose identity is among the k nearest identities.

    An identity is as near as the nearest of its entries that count. Identities at one distance
    have no order: the value is the mean over all orders.

    Args:
        search: Labels, distances and the rule.
        max_rank: Largest k.
        block_size: Queries a block; None chooses one.

    Returns:
        (max_rank,) float64, mean over the queries with a match.

    Source: the evaluation that comes with SYSU-MM01 (Wu et al., RGB-Infrared Cross-Modality Person
    Re-Identification, ICCV 2017); ties: original.
    """
    finder = MatchFinder(search.gallery, protocol=search.protocol)
    identities = Identities.of(search.gallery)
    sums, number = np.zeros(max_rank), 0
    for start, stop in block_bounds(len(search.query), len(search.gallery), block_size):
        allowed, matches = finder.valid(search.query.block(start, stop))
        nearest = identities.nearest(search.distances(start, stop), allowed)
        for row, columns in enumerate(matches):
            if not len(columns):
                continue
            own = identities.codes[columns[0]]
            others = np.delete(nearest[row], own)
            before = int(np.count_nonzero(others < nearest[row, own]))
            tied = int(np.count_nonzero(others == nearest[row, own]))
            sums += np.clip((np.arange(1, max_rank + 1) - before) / (tied + 1), 0, 1)
            number += 1
    return sums / number
