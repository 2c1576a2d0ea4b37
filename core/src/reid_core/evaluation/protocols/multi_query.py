"""Multi-query: all queries of one identity in one camera are one query."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from reid_core.evaluation.embeddings import Embeddings
from reid_core.evaluation.protocols.base import Prepared, Protocol
from reid_core.evaluation.protocols.cameras import OtherCameras
from reid_core.evaluation.protocols.pooling import Pooling, check_pooling, group_codes, pool


@dataclass(frozen=True)
class MultiQuery(OtherCameras):
    """Queries of one identity and camera pooled to one, then the rule of Market-1501.

    Args:
        name: What a config calls it.
        description: The rule in one line.
        pooling: ``mean`` or ``max`` over the queries.
        normalize: Whether embeddings are scaled to length 1 first, and what comes of it to their
            mean length.
    """

    pooling: Pooling = "mean"
    normalize: bool = True

    def prepare(self, query: Embeddings, gallery: Embeddings) -> Prepared:
        """Pool the queries of each identity and camera; the gallery stays as it is."""
        codes = group_codes([query.labels.pids, query.labels.camids])
        pooled = pool(query, codes, pooling=self.pooling, normalize=self.normalize)
        asked = pooled.embeddings
        if self.normalize:
            # The gallery has the model's own lengths, which the euclidean distance looks at.
            lengths = _mean_lengths(query.features, torch.from_numpy(codes), len(asked))
            asked = replace(asked, features=asked.features * lengths[:, None])
        return Prepared(asked, gallery, pooled.first, np.arange(len(gallery)))


def _mean_lengths(features: Tensor, codes: Tensor, num_groups: int) -> Tensor:
    lengths: Tensor = torch.linalg.vector_norm(features.float(), dim=1)
    means = lengths.new_zeros(num_groups).index_add_(0, codes.to(lengths.device), lengths)
    return means.div_(torch.bincount(codes, minlength=num_groups).to(lengths.device))


def multi_query(*, pooling: Pooling = "mean", normalize: bool = True) -> Protocol:
    """Return the multi-query protocol of Market-1501.

    All queries of one identity in one camera become one, which then searches by the rule of
    ``market1501``. Market-1501's own multi-query images are in its folder ``gt_bbox``, many more
    than its one query an identity and camera: without them among the queries it changes nothing.

    Args:
        pooling: ``mean``, or ``max`` in each dimension, over the queries.
        normalize: Whether embeddings are scaled to length 1 before they are pooled, so that each
            counts the same. The pooled one is then scaled by the mean of their lengths, so that it
            compares with the gallery by any distance, and a single query stays what it is.

    Raises:
        ConfigError: ``pooling`` has another name.

    Source: Zheng et al., Scalable Person Re-identification: A Benchmark, ICCV 2015 (section 3.3:
    average and max pooling of several queries).
    """
    check_pooling(pooling, protocol="multi_query")
    scaled = "L2-normalised" if normalize else "raw"
    return MultiQuery(
        name="multi_query",
        description=(
            f"queries of one identity and camera are one ({pooling} of {scaled} embeddings), "
            "matches in that camera left out, junk (pid -1) ignored, queries without a match "
            "skipped"
        ),
        pooling=pooling,
        normalize=normalize,
    )
