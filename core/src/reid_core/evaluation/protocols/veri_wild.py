"""VERI-Wild: vehicles in 174 cameras."""

from __future__ import annotations

from reid_core.evaluation.protocols.base import Protocol
from reid_core.evaluation.protocols.cameras import OtherCameras


def veri_wild() -> Protocol:
    """Return the protocol of VERI-Wild, for each of its three sizes.

    Gallery images of the query's vehicle in the query's camera are left out, as is junk (pid -1);
    the rule is that of ``market1501``. Which of the three test lists is searched is a matter of the
    data set (``size``).

    Source: Lou et al., VERI-Wild: A Large Dataset and a New Method for Vehicle Re-Identification in
    the Wild, CVPR 2019.
    """
    return OtherCameras(
        name="veri_wild",
        description=(
            "matches in the query's own camera left out, junk (pid -1) ignored, "
            "queries without a match skipped"
        ),
    )
