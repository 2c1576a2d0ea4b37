"""Protocols: which gallery entries do not count for a query, and the name of that rule."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reid_core.evaluation.embeddings import Labels


@dataclass(frozen=True)
class Protocol(ABC):
    """The rule of a benchmark.

    A further protocol is a subclass with a method :meth:`excluded`, and an entry point of kind
    ``protocols`` that names a function which returns an instance.

    Args:
        name: What a config calls it; stored with every number.
        description: The rule in one line; printed beside every number.
    """

    name: str
    description: str

    @abstractmethod
    def excluded(self, query: Labels, gallery: Labels) -> NDArray[np.bool_]:
        """Say which gallery entries do not count for a block of queries.

        An excluded entry is neither a match nor a mistake: it is as if it were not there. Of the
        others, those with the query's pid are its matches.

        Args:
            query: Labels of B queries.
            gallery: Labels of all G gallery entries.

        Returns:
            (B, G) bool, True where the gallery entry is left out. The array is handed over: it is
            changed afterwards.
        """


@dataclass(frozen=True)
class OtherCameras(Protocol):
    """Search in other cameras only: the query's identity as its own camera saw it is left out.

    Args:
        name: What a config calls it.
        description: The rule in one line.
        junk_pid: Gallery entries of this pid are left out for every query.
    """

    junk_pid: int = -1

    def excluded(self, query: Labels, gallery: Labels) -> NDArray[np.bool_]:
        """Leave out junk, and entries with both the pid and the camid of the query."""
        mask: NDArray[np.bool_] = query.pids[:, None] == gallery.pids
        mask &= query.camids[:, None] == gallery.camids
        mask[:, gallery.pids == self.junk_pid] = True
        return mask


def market1501() -> Protocol:
    """Return the protocol of Market-1501, which DukeMTMC-reID and MSMT17 share.

    Gallery entries with the query's pid and the query's camid are left out, as is junk (pid -1).
    Distractors (pid 0) stay, as mistakes. A query without a match is skipped, and counted.

    Source: Zheng et al., Scalable Person Re-identification: A Benchmark, ICCV 2015.
    """
    return OtherCameras(
        name="market1501",
        description=(
            "matches in the query's own camera left out, junk (pid -1) ignored, "
            "distractors (pid 0) kept, queries without a match skipped"
        ),
    )
