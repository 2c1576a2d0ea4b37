"""MSMT17, in both versions."""

from __future__ import annotations

from reid_core.evaluation.protocols.base import Protocol
from reid_core.evaluation.protocols.cameras import OtherCameras


def msmt17() -> Protocol:
    """Return the protocol of MSMT17, V1 and V2.

    Gallery images of the query's identity in the query's camera are left out, as is junk (pid -1);
    the rule is that of ``market1501``.

    Source: Wei et al., Person Transfer GAN to Bridge Domain Gap for Person Re-identification,
    CVPR 2018.
    """
    return OtherCameras(
        name="msmt17",
        description=(
            "matches in the query's own camera left out, junk (pid -1) ignored, "
            "queries without a match skipped"
        ),
    )
