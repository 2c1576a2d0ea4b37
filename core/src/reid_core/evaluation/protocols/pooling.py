"""Several embeddings pooled to one: frames of a tracklet, queries of one person and camera."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from reid_core.errors import ConfigError
from reid_core.evaluation.distances.distance import unit_rows
from reid_core.evaluation.embeddings import Embeddings

Pooling = Literal["mean", "max"]


@dataclass(frozen=True, eq=False)
class Pooled:
    """Pooled embeddings.

    Args:
        embeddings: One row a group, with the labels of its first row, in the order of these.
        first: (N,) int64 first row of each group.
    """

    embeddings: Embeddings
    first: NDArray[np.int64]


def check_pooling(pooling: str, *, protocol: str) -> None:
    """Refuse a pooling of another name.

    Raises:
        ConfigError: It is neither ``mean`` nor ``max``.
    """
    if pooling not in ("mean", "max"):
        raise ConfigError(f"protocol {protocol}: pooling is {pooling!r}; expected 'mean' or 'max'")


def group_codes(columns: Sequence[NDArray[np.generic]]) -> NDArray[np.int64]:
    """Number the rows by their values together, groups in the order of their first rows.

    Args:
        columns: (N,) each, numbers or text.

    Returns:
        (N,) int64, 0 to the number of groups less 1.
    """
    codes = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        values, numbers = np.unique(column, return_inverse=True)
        codes = np.unique(codes * max(1, len(values)) + numbers, return_inverse=True)[1]
    _, first, codes = np.unique(codes, return_index=True, return_inverse=True)
    places = np.empty(len(first), dtype=np.int64)
    places[np.argsort(first, kind="stable")] = np.arange(len(first))
    return np.asarray(places[codes], dtype=np.int64)


def pool(
    embeddings: Embeddings, codes: NDArray[np.int64], *, pooling: Pooling, normalize: bool
) -> Pooled:
    """Pool embeddings.

    Args:
        embeddings: N rows.
        codes: (N,) int64 group of each, as :func:`group_codes` gives them.
        pooling: ``mean``, or ``max`` in each dimension.
        normalize: Whether rows are scaled to length 1 before.

    Returns:
        A row a group, float32.
    """
    features = embeddings.features
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    first = order[starts].astype(np.int64)
    pooled = torch.empty(len(first), features.shape[1], device=features.device)
    # A group at a time: frames of a video set are many, and a copy of all would be large.
    for group, rows in enumerate(np.split(order, starts[1:]) if len(first) else []):
        values = features[torch.from_numpy(rows).to(features.device)].float()
        values = unit_rows(values) if normalize else values
        pooled[group] = values.mean(dim=0) if pooling == "mean" else values.amax(dim=0)
    labels = embeddings.labels.take(first)
    return Pooled(Embeddings(pooled, labels.pids, labels.camids, labels.columns), first)
