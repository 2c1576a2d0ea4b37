"""Video by tracklet: frames are pooled, and tracklets search tracklets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reid_core.errors import DataError
from reid_core.evaluation.embeddings import Embeddings
from reid_core.evaluation.protocols.base import Prepared, Protocol
from reid_core.evaluation.protocols.cameras import OtherCameras
from reid_core.evaluation.protocols.pooling import (
    Pooled,
    Pooling,
    check_pooling,
    group_codes,
    pool,
)

#: The column that says which frames are of one tracklet.
TRACKLETS = "tracklets"


@dataclass(frozen=True)
class Tracklets(OtherCameras):
    """One embedding a tracklet, then the rule of Market-1501.

    Args:
        name: What a config calls it.
        description: The rule in one line.
        pooling: ``mean`` or ``max`` over the frames.
        normalize: Whether frames are scaled to length 1 first.
    """

    pooling: Pooling = "mean"
    normalize: bool = True

    def prepare(self, query: Embeddings, gallery: Embeddings) -> Prepared:
        """Pool the frames of each tracklet.

        Raises:
            DataError: The set has no column ``tracklets``, or a tracklet has two identities or
                cameras.
        """
        asked, searched = self._pooled(query, "query"), self._pooled(gallery, "gallery")
        return Prepared(asked.embeddings, searched.embeddings, asked.first, searched.first)

    def _pooled(self, side: Embeddings, name: str) -> Pooled:
        labels = side.labels
        tracklets = labels.column(TRACKLETS)
        codes = group_codes([tracklets])
        pooled = pool(side, codes, pooling=self.pooling, normalize=self.normalize)
        for field, values in (("identities", labels.pids), ("cameras", labels.camids)):
            expected = values[pooled.first][codes]
            if (mixed := np.flatnonzero(values != expected)).size:
                row = int(mixed[0])
                raise DataError(
                    f"protocol {self.name}: tracklet {tracklets[row]} of the {name} mixes {field} "
                    f"{expected[row]} and {values[row]} (row {row}); expected one: check the "
                    "column tracklets"
                )
        return pooled


def tracklets(*, pooling: Pooling = "mean", normalize: bool = True) -> Protocol:
    """Return the protocol of video sets: MARS, DukeMTMC-VideoReID, iLIDS-VID, PRID2011.

    The embeddings of a tracklet's frames, as the column ``tracklets`` groups them, become one.
    Tracklets then search tracklets by the rule of ``market1501``. Counts are of tracklets.

    Args:
        pooling: ``mean``, or ``max`` in each dimension, over the frames.
        normalize: Whether frames are scaled to length 1 before they are pooled, so that each
            counts the same. The pooled embedding is left as it is; the cosine distance does not
            care.

    Raises:
        ConfigError: ``pooling`` has another name.

    Source: Zheng et al., MARS: A Video Benchmark for Large-Scale Person Re-identification, ECCV
    2016 (average and max pooling over a tracklet).
    """
    check_pooling(pooling, protocol="tracklets")
    scaled = "L2-normalised" if normalize else "raw"
    return Tracklets(
        name="tracklets",
        description=(
            f"one embedding a tracklet ({pooling} of its {scaled} frames), matches in the query's "
            "own camera left out, junk (pid -1) ignored, tracklets without a match skipped"
        ),
        pooling=pooling,
        normalize=normalize,
    )
