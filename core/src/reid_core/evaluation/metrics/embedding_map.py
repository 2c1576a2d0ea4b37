"""Embeddings in two dimensions: the two principal components of a sample."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from reid_core.evaluation.detail import EmbeddingMap
from reid_core.evaluation.distances.distance import DistanceName
from reid_core.evaluation.embeddings import Embeddings
from reid_core.evaluation.protocols.base import JUNK_PID

#: Points of a map: more cannot be told apart, and make a page heavy.
MAX_POINTS = 1000


def embedding_map(
    query: Embeddings,
    gallery: Embeddings,
    *,
    distance: DistanceName = "cosine",
    names: Mapping[int, str] | None = None,
    num_points: int = MAX_POINTS,
    seed: int = 0,
) -> EmbeddingMap:
    """Project a sample of the embeddings to the plane that shows most of their variance.

    Under ``cosine`` embeddings are made unit vectors first, as the distance does. Junk is left out.
    The sample is drawn over both sides; each axis points to where the sample reaches farther, so
    that the same embeddings give the same map.

    Args:
        query: Q queries.
        gallery: G gallery entries.
        distance: What the embeddings are compared by.
        names: Name of each identity; the number itself where there is none.
        num_points: Points at most, 2 to 2,000.
        seed: Seed of the sample.

    Returns:
        The points, queries first, in the order of their rows.

    Source: Pearson, On lines and planes of closest fit to systems of points in space, 1901.
    """
    pids = np.concatenate([query.labels.pids, gallery.labels.pids])
    rows = np.flatnonzero(pids != JUNK_PID)
    if len(rows) > num_points:
        generator = np.random.default_rng(np.random.SeedSequence(seed))
        rows = np.sort(generator.choice(rows, size=num_points, replace=False))
    is_query = rows < len(query)
    features = torch.cat(
        [
            query.features[rows[is_query].tolist()].float().cpu(),
            gallery.features[(rows[~is_query] - len(query)).tolist()].float().cpu(),
        ]
    )
    if distance == "cosine":
        features = F.normalize(features)
    points, explained = _principal(features.double().numpy())
    told = names or {}
    return EmbeddingMap(
        x=points[:, 0].round(6).tolist(),
        y=points[:, 1].round(6).tolist(),
        pids=[told.get(pid, str(pid)) for pid in pids[rows].tolist()],
        sides=["query" if is_one else "gallery" for is_one in is_query.tolist()],
        explained=explained,
    )


def _principal(features: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return the coordinates (N, 2) along the first two principal axes, and their variance."""
    centred = features - features.mean(axis=0) if len(features) else features
    points = np.zeros((len(centred), 2))
    total = float(np.square(centred).sum())
    if total <= np.finfo(np.float32).eps * float(np.square(features).sum()):
        return points, 0.0
    is_wide = centred.shape[1] > len(centred)
    # The smaller of the two products has the same eigenvalues.
    values, vectors = np.linalg.eigh(centred @ centred.T if is_wide else centred.T @ centred)
    shown = values[::-1][:2].clip(min=0.0)
    top = vectors[:, ::-1][:, :2]
    found = top * np.sqrt(shown) if is_wide else centred @ top
    points[:, : found.shape[1]] = _oriented(found)
    return points, float(shown.sum() / total)


def _oriented(points: NDArray[np.float64]) -> NDArray[np.float64]:
    farthest = np.abs(points).argmax(axis=0)
    signs = np.where(points[farthest, np.arange(points.shape[1])] < 0, -1.0, 1.0)
    return points * signs
