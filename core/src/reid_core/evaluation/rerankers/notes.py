"""What is said of a set on which reranking can gain little."""

from __future__ import annotations

import logging

import numpy as np

from reid_core.evaluation.embeddings import Labels
from reid_core.evaluation.protocols import Protocol

log = logging.getLogger("reid_core")


def note_few_matches(query: Labels, gallery: Labels, protocol: Protocol) -> None:
    """Log that no gain is expected where a query has one match at most.

    Rerankers look for several images of one identity that support each other.

    Args:
        query: Labels of the queries.
        gallery: Labels of the gallery.
        protocol: Which gallery entries count for a query.
    """
    counts = protocol.count_matches(query, gallery)
    if counts is None:
        pids, sizes = np.unique(gallery.pids, return_counts=True)
        counts = np.isin(query.pids, pids) * sizes[np.searchsorted(pids, query.pids) % len(pids)]
    found = counts[counts > 0]
    if len(found) and found.mean() <= 1:
        log.info(
            "reranking: the queries have %.0f match each on average, so no gain is expected; it "
            "needs several gallery images of an identity that support each other",
            found.mean(),
        )
