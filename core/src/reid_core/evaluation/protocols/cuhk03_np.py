"""CUHK03 with its new protocol: 767 identities to train on and 700 to test."""

from __future__ import annotations

from reid_core.evaluation.protocols.base import Protocol
from reid_core.evaluation.protocols.cameras import OtherCameras


def cuhk03_np() -> Protocol:
    """Return the new protocol of CUHK03 (CUHK03-NP), for labelled and for detected boxes.

    All images of the gallery count; those of the query's identity in the query's camera are left
    out, as is junk (pid -1). The rule is that of ``market1501``. The classic protocol is
    ``cuhk03``; figures of the two do not compare.

    Source: Zhong et al., Re-ranking Person Re-identification with k-reciprocal Encoding, CVPR 2017.
    """
    return OtherCameras(
        name="cuhk03_np",
        description=(
            "new protocol: matches in the query's own camera left out, junk (pid -1) ignored, "
            "queries without a match skipped"
        ),
    )
