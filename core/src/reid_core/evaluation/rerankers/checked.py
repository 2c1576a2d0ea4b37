"""What a reranker gives back, looked at before anything is measured on it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from reid_core.errors import PluginError
from reid_core.evaluation.distances.distance import DistanceName
from reid_core.evaluation.rerankers.base import BlockSource, DistanceReranker, FeatureReranker

#: Rows that are looked at together: half precision is converted for it.
_CHECKED_ROWS = 2**13


def checked_features(
    reranker: FeatureReranker,
    query: Tensor,
    gallery: Tensor,
    *,
    distance: DistanceName,
    places: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Change the embeddings, and refuse what could not be measured.

    Args:
        reranker: What changes them.
        query: (Q, D) floating point.
        gallery: (G, D) floating point.
        distance: The distance that the set is compared by.
        places: Where queries are in the gallery too, see :func:`reranked`.

    Returns:
        (Q, D) and (G, D) floating point, finite.

    Raises:
        PluginError: The reranker gives something else.
    """
    made: object = (
        reranker.features(query, gallery, distance=distance)
        if places is None
        else reranker.features_once(query, gallery, places, distance=distance)
    )
    if not isinstance(made, tuple) or len(made) != 2:
        raise PluginError(
            f"reranker {reranker.name}: features() gives {described(made)}; expected a pair, the "
            "embeddings of the queries and those of the gallery"
        )
    changed_query, changed_gallery = made
    return (
        _checked_side(reranker, "queries", query, changed_query),
        _checked_side(reranker, "gallery", gallery, changed_gallery),
    )


def checked_distances(
    reranker: DistanceReranker,
    query: Tensor,
    gallery: Tensor,
    *,
    distance: DistanceName,
    places: Tensor | None = None,
) -> BlockSource:
    """Make the changed distances; each block is looked at when it is asked for.

    Args:
        reranker: What makes them.
        query: (Q, D) floating point.
        gallery: (G, D) floating point.
        distance: The distance that the set is compared by.
        places: Where queries are in the gallery too, see :func:`reranked`.

    Returns:
        What gives the distances of a block of queries, finite; a block that is something else
        raises a ``PluginError``.

    Raises:
        PluginError: The reranker gives nothing that can be called.
    """
    source: object = (
        reranker.distances(query, gallery, distance=distance)
        if places is None
        else reranker.distances_once(query, gallery, places, distance=distance)
    )
    num_gallery = len(gallery)
    if not callable(source):
        raise PluginError(
            f"reranker {reranker.name}: distances() gives {described(source)}; expected a function "
            "of a first query and the one after the last, which gives their distances"
        )

    def block(start: int, stop: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        made = source(start, stop)
        shape = (stop - start, num_gallery)
        if (
            not isinstance(made, np.ndarray)
            or made.shape != shape
            or made.dtype not in (np.float32, np.float64)
        ):
            advice = ": return its .numpy()" if isinstance(made, Tensor) else ""
            raise PluginError(
                f"reranker {reranker.name}: distances() gives {described(made)} for queries "
                f"{start} to {stop}; expected a numpy array {shape} of float32 or float64{advice}"
            )
        # A sum shows every NaN and infinity without another array; it may also overflow.
        with np.errstate(over="ignore", invalid="ignore"):
            is_finite = bool(np.isfinite(made.sum())) or bool(np.isfinite(made).all())
        if not is_finite:
            raise PluginError(
                f"reranker {reranker.name}: distances() gives values that are not finite (NaN or "
                f"infinite) for queries {start} to {stop}; expected numbers: look for a division "
                "by 0"
            )
        return made

    return block


def described(value: object) -> str:
    """Say what a value is: kind, shape and dtype of an array, type of anything else."""
    if isinstance(value, Tensor):
        return f"a torch tensor {tuple(value.shape)} {str(value.dtype).removeprefix('torch.')}"
    if isinstance(value, np.ndarray):
        return f"a numpy array {value.shape} {value.dtype}"
    return f"a {type(value).__name__}"


def _checked_side(reranker: FeatureReranker, side: str, given: Tensor, made: object) -> Tensor:
    if (
        not isinstance(made, Tensor)
        or made.shape != given.shape
        or not made.dtype.is_floating_point
    ):
        advice = ": torch.from_numpy() makes one" if isinstance(made, np.ndarray) else ""
        raise PluginError(
            f"reranker {reranker.name}: features() gives {described(made)} for the {side}; "
            f"expected a torch tensor {tuple(given.shape)} of floating point numbers{advice}"
        )
    if made is not given and not all(_are_finite(made)):
        raise PluginError(
            f"reranker {reranker.name}: features() gives values that are not finite (NaN or "
            f"infinite) for the {side}; expected numbers: look for a division by 0"
        )
    return made


def _are_finite(features: Tensor) -> Iterator[bool]:
    # The norm shows every NaN and infinity, and makes no copy of the features.
    with torch.no_grad():
        for part in torch.split(features, _CHECKED_ROWS):
            yield bool(torch.isfinite(torch.linalg.vector_norm(part.float(), dim=1)).all())
