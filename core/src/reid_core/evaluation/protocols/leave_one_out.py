"""Leave-one-out: every image searches all others, for sets without query and gallery."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from reid_core.evaluation.embeddings import Labels
from reid_core.evaluation.protocols.base import DISTRACTORS, JUNK_PID, Protocol, Trial
from reid_core.evaluation.protocols.counting import count_together


@dataclass(frozen=True)
class LeaveOneOut(Protocol):
    """Every row searches all rows but itself.

    Args:
        name: What a config calls it.
        description: The rule in one line.
    """

    pools: ClassVar[bool] = True

    def excluded(self, query: Labels, gallery: Labels) -> NDArray[np.bool_]:
        """Leave out the query itself, and junk."""
        mask: NDArray[np.bool_] = query.column("rows")[:, None] == gallery.column("rows")
        mask[:, gallery.pids == JUNK_PID] = True
        return mask

    def trials(self, query: Labels, gallery: Labels) -> Sequence[Trial]:
        """Make one trial: all rows are the gallery, and all that are somebody are queries."""
        pids = np.concatenate([query.pids, gallery.pids])
        is_somebody = pids != JUNK_PID
        sides = [side for side in (query, gallery) if len(side)]
        if sides and all(DISTRACTORS in side.columns for side in sides):
            flags = np.concatenate([side.columns[DISTRACTORS] for side in sides])
            is_somebody &= ~flags.astype(bool)
        return [Trial(np.flatnonzero(is_somebody), np.arange(len(pids)))]

    def count_matches(self, query: Labels, gallery: Labels) -> NDArray[np.int64]:
        """Count the entries of the query's pid, less itself."""
        counts = count_together([query.pids], [gallery.pids])
        own = np.isin(query.column("rows"), gallery.column("rows"))
        return np.where(query.pids == JUNK_PID, 0, counts - own)


@dataclass(frozen=True)
class LeaveOneOutOtherCameras(LeaveOneOut):
    """Every row searches all rows but itself and its identity's rows of its own camera.

    Args:
        name: What a config calls it.
        description: The rule in one line.
    """

    needs_cameras: ClassVar[bool] = True

    def excluded(self, query: Labels, gallery: Labels) -> NDArray[np.bool_]:
        """Leave out the query itself, its own camera's matches, and junk."""
        is_same: NDArray[np.bool_] = query.pids[:, None] == gallery.pids
        is_same &= query.camids[:, None] == gallery.camids
        return super().excluded(query, gallery) | is_same

    def without_cameras(self) -> Protocol:
        """Return the rule that looks at no camera."""
        return leave_one_out()

    def count_matches(self, query: Labels, gallery: Labels) -> NDArray[np.int64]:
        """Count the entries of the query's pid, less those of its camid and itself."""
        counts = count_together([query.pids], [gallery.pids])
        own = count_together([query.pids, query.camids], [gallery.pids, gallery.camids])
        return np.where(query.pids == JUNK_PID, 0, counts - own)


def leave_one_out(*, other_cameras: bool = False) -> Protocol:
    """Return the protocol in which every image searches all others.

    Query and gallery are one pool; a set may have either of them alone. The only image of an
    identity has nothing to find: it is skipped, and counted. Junk (pid -1) is left out.
    Distractors, as the data set tells them, are searched in and never searched for.

    Args:
        other_cameras: Whether matches in the query's own camera are left out too.

    Source: the usual rule of metric learning, for example Oh Song et al., Deep Metric Learning via
    Lifted Structured Feature Embedding, CVPR 2016.
    """
    rule = "matches in the query's own camera left out" if other_cameras else "any camera counts"
    kind = LeaveOneOutOtherCameras if other_cameras else LeaveOneOut
    return kind(
        name="leave_one_out",
        description=(
            f"every image of query and gallery searches all others, {rule}, junk (pid -1) "
            "ignored, images without a match skipped"
        ),
    )
