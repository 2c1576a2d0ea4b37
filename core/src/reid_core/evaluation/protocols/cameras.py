"""The protocols that look at cameras: market1501, and no_camera that does not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from reid_core.evaluation.embeddings import Labels
from reid_core.evaluation.protocols.base import Protocol
from reid_core.evaluation.protocols.counting import count_together


@dataclass(frozen=True)
class OtherCameras(Protocol):
    """Search in other cameras only: the query's identity as its own camera saw it is left out.

    Args:
        name: What a config calls it.
        description: The rule in one line.
        junk_pid: Gallery entries of this pid are left out for every query.
    """

    junk_pid: int = -1

    needs_cameras: ClassVar[bool] = True
    excludes_own_pid_only: ClassVar[bool] = True

    def ignored(self, gallery: Labels) -> NDArray[np.bool_]:
        """Take junk away."""
        return np.asarray(gallery.pids == self.junk_pid)

    def excluded(self, query: Labels, gallery: Labels) -> NDArray[np.bool_]:
        """Leave out junk, and entries with both the pid and the camid of the query."""
        mask: NDArray[np.bool_] = query.pids[:, None] == gallery.pids
        mask &= query.camids[:, None] == gallery.camids
        mask[:, gallery.pids == self.junk_pid] = True
        return mask

    def count_matches(self, query: Labels, gallery: Labels) -> NDArray[np.int64]:
        """Count the entries of the query's pid, less those of its camid."""
        of_pid = count_together([query.pids], [gallery.pids])
        of_both = count_together([query.pids, query.camids], [gallery.pids, gallery.camids])
        return np.where(query.pids == self.junk_pid, 0, of_pid - of_both)


@dataclass(frozen=True)
class AnyCamera(Protocol):
    """Search everywhere, the query's own camera too.

    Args:
        name: What a config calls it.
        description: The rule in one line.
        junk_pid: Gallery entries of this pid are left out for every query.
    """

    junk_pid: int = -1

    excludes_own_pid_only: ClassVar[bool] = True

    def ignored(self, gallery: Labels) -> NDArray[np.bool_]:
        """Take junk away."""
        return np.asarray(gallery.pids == self.junk_pid)

    def excluded(self, query: Labels, gallery: Labels) -> NDArray[np.bool_]:
        """Leave out junk."""
        return np.tile(gallery.pids == self.junk_pid, (len(query), 1))

    def count_matches(self, query: Labels, gallery: Labels) -> NDArray[np.int64]:
        """Count the entries of the query's pid."""
        return np.where(
            query.pids == self.junk_pid, 0, count_together([query.pids], [gallery.pids])
        )


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


def no_camera() -> Protocol:
    """Return the protocol for data whose cameras are not known: no match is left out.

    Junk (pid -1) is left out. Distractors (pid 0) stay, as mistakes. A query without a match is
    skipped, and counted. Matches in the query's own camera are easier than those in others, so the
    figures are not comparable with those of ``market1501``.

    Source: original; the rule of face and object retrieval.
    """
    return AnyCamera(
        name="no_camera",
        description=(
            "camera filter off: matches in any camera count, junk (pid -1) ignored, "
            "distractors (pid 0) kept, queries without a match skipped"
        ),
    )
