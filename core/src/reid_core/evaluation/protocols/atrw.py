"""ATRW: Amur tigers, searched for in other recordings and in their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from reid_core.evaluation.embeddings import Labels
from reid_core.evaluation.protocols.base import Protocol
from reid_core.evaluation.protocols.columns import junk_excluded, same_value

#: The columns that say which recording a frame is of, and its number there.
SEQUENCES, FRAMES = "sequences", "frames"
#: Frames of one recording that are this near are the same sight.
NEAR_FRAMES = 3


@dataclass(frozen=True)
class OtherMoments(Protocol):
    """Search at other moments: the query's identity in frames near the query's is left out.

    Args:
        name: What a config calls it.
        description: The rule in one line.
        near: Frames of one recording that are this many apart, or fewer, are one moment.
    """

    near: int = NEAR_FRAMES

    excludes_own_pid_only: ClassVar[bool] = True

    def excluded(self, query: Labels, gallery: Labels) -> NDArray[np.bool_]:
        """Leave out junk, and the query's identity in near frames of the query's recording.

        Raises:
            DataError: The test set has no column ``sequences`` or ``frames``.
        """
        apart = np.subtract.outer(_frames(query), _frames(gallery))
        mask: NDArray[np.bool_] = np.abs(apart) <= self.near
        mask &= same_value(query, gallery, SEQUENCES)
        mask &= query.pids[:, None] == gallery.pids
        mask |= junk_excluded(query, gallery)
        return mask


def atrw() -> Protocol:
    """Return the protocol of ATRW's track "plain".

    The gallery is all of the test, the query's own image included. Images of the query's identity
    in its recording are left out where their frames are 3 or fewer apart; so is junk (pid -1).
    The authors give two figures, each over queries of its own: cross-camera, of identities that
    several recordings show, and single-camera, of those that only one shows. The data set ``atrw``
    has them as ``queries``; give each a test set of its own.

    Source: Li et al., ATRW: A Benchmark for Amur Tiger Re-identification in the Wild, ACM
    Multimedia 2020; the rule is that of the authors' evaluation script.
    """
    return OtherMoments(
        name="atrw",
        description=(
            f"the query's identity left out in frames of its recording that are {NEAR_FRAMES} or "
            "fewer apart, junk (pid -1) ignored, queries without a match skipped"
        ),
    )


def _frames(labels: Labels) -> NDArray[np.int64]:
    return labels.column(FRAMES).astype(np.int64)
