"""Search across modalities: infrared or thermal images in visible ones, and the other way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reid_core.evaluation.embeddings import Labels
from reid_core.evaluation.protocols.base import Protocol
from reid_core.evaluation.protocols.columns import junk_excluded, same_value

#: The column that says how an image was taken; readers write ``rgb`` and ``infrared``.
MODALITIES = "modalities"


@dataclass(frozen=True)
class OtherModality(Protocol):
    """Search in other modalities only, in any camera.

    Args:
        name: What a config calls it.
        description: The rule in one line.
    """

    def excluded(self, query: Labels, gallery: Labels) -> NDArray[np.bool_]:
        """Leave out junk, and all entries of the query's own modality.

        Raises:
            DataError: The test set has no column ``modalities``.
        """
        mask = same_value(query, gallery, MODALITIES)
        mask |= junk_excluded(query, gallery)
        return mask


def regdb() -> Protocol:
    """Return the protocol of RegDB, for both directions.

    Queries are of one modality and the gallery of the other. No match is left out: both cameras
    stand side by side. Should a gallery hold images of the query's modality, they are left out.
    Published figures are means over ten trials, each a training of its own: set the reader's
    ``trial`` to 1 to 10, train, and take the mean.

    Source: Nguyen et al., Person Recognition System Based on a Combination of Body Images from
    Visible Light and Thermal Cameras, Sensors 2017; the trials: Ye et al., Hierarchical
    Discriminative Learning for Visible Thermal Person Re-Identification, AAAI 2018.
    """
    return OtherModality(
        name="regdb",
        description=(
            "all entries of the other modality count, those of the query's own left out, any "
            "camera, junk (pid -1) ignored, one of ten trials"
        ),
    )
