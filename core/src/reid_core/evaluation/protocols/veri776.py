"""VeRi-776: from image to image, and from image to track."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reid_core.evaluation.embeddings import Labels
from reid_core.evaluation.protocols.base import Protocol
from reid_core.evaluation.protocols.cameras import OtherCameras
from reid_core.evaluation.protocols.tracklets import TRACKLETS


@dataclass(frozen=True)
class OtherCamerasTracks(OtherCameras):
    """Search among tracks of other cameras; a track is as far as its nearest image.

    Args:
        name: What a config calls it.
        description: The rule in one line.
        junk_pid: Tracks of this pid are left out for every query.
    """

    def grouped(self, gallery: Labels) -> NDArray[np.int64]:
        """Group gallery images by the column ``tracklets``.

        Raises:
            DataError: The test set has no such column.
        """
        codes: NDArray[np.int64]
        _, codes = np.unique(gallery.column(TRACKLETS), return_inverse=True)
        return codes.astype(np.int64, copy=False)


def veri776() -> Protocol:
    """Return the protocol of VeRi-776 from image to image.

    Gallery images of the query's vehicle in the query's camera are left out, as is junk (pid -1);
    the rule is that of ``market1501``. Most published figures are of this kind.

    Source: Liu et al., A Deep Learning-Based Approach to Progressive Vehicle Re-identification for
    Urban Surveillance, ECCV 2016.
    """
    return OtherCameras(
        name="veri776",
        description=(
            "image to image: matches in the query's own camera left out, junk (pid -1) ignored, "
            "queries without a match skipped"
        ),
    )


def veri776_tracks() -> Protocol:
    """Return the protocol of VeRi-776 from image to track.

    An entry of the gallery is a track: images of one vehicle that one camera took in a row, which
    the column ``tracklets`` tells. Its distance is that of its nearest image. Tracks of the query's
    vehicle in the query's camera are left out, as is junk (pid -1).

    Source: Liu et al., PROVID: Progressive and Multimodal Vehicle Reidentification for Large-Scale
    Urban Surveillance, IEEE Transactions on Multimedia 2018.
    """
    return OtherCamerasTracks(
        name="veri776_tracks",
        description=(
            "image to track: a track is as far as its nearest image, matches in the query's own "
            "camera left out, junk (pid -1) ignored, queries without a match skipped"
        ),
    )
