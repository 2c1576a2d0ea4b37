"""P identities with K images each: the size of such a batch, and the images of an identity."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reid_core.errors import ConfigError


def rows_by_label(labels: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the rows of each label that occurs, in the labels' order.

    Args:
        labels: (N,) labels of the rows, not necessarily consecutive numbers.
    """
    order = np.argsort(labels, kind="stable").astype(np.int64)
    _, starts = np.unique(labels[order], return_index=True)
    return np.split(order, starts[1:]) if len(order) else []


def draw(rows: NDArray[np.int64], count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw rows at random; where there are fewer than ``count``, they repeat evenly.

    Args:
        rows: (n,) rows to draw from, at least one.
        count: How many to draw.
        rng: Source of randomness.

    Returns:
        (count,) int64.
    """
    return np.resize(rng.permutation(rows)[:count], count)


def identities_per_batch(identities: int | None, instances: int, size: int | None) -> int:
    """Return P, from whichever of P and P·K a config gives.

    Args:
        identities: P, or None.
        instances: K.
        size: P·K, or None.

    Raises:
        ConfigError: Neither or both are given, ``size`` is no multiple of ``instances``, or P is
            less than 2.
    """
    require_instances(instances)
    if (identities is None) == (size is None):
        raise ConfigError(
            "data.batch: give the batch as identities (P) or as size (P*K), "
            f"got identities={identities}, size={size}"
        )
    if identities is None:
        assert size is not None
        if size % instances:
            below = size // instances * instances
            nearest = [n for n in (below, below + instances) if n >= 2 * instances]
            raise ConfigError(
                f"data.batch.size {size} is not a multiple of {instances} instances; the nearest "
                f"that can be used: {' or '.join(map(str, nearest or [2 * instances]))}"
            )
        identities = size // instances
    if identities < 2:
        raise ConfigError(
            f"data.batch has {identities} identities a batch; a metric loss needs at least 2 "
            "to have a negative"
        )
    return identities


def require_instances(instances: int) -> None:
    """Refuse a K below 1.

    Raises:
        ConfigError: It is.
    """
    if instances < 1:
        raise ConfigError(f"data.batch.instances is {instances}; expected at least 1")


def too_few_identities(available: int, identities: int, instances: int) -> str:
    """Say that the data has fewer identities than a batch, and what to change.

    Args:
        available: Identities of the data.
        identities: P.
        instances: K.
    """
    if available < 2:
        advice = "a metric loss needs at least 2: add data"
    else:
        advice = (
            f"set data.batch.identities to at most {available}, or lower data.batch.size to at "
            f"most {available * instances}"
        )
    return (
        f"a batch of {identities * instances} with {instances} images an identity needs "
        f"{identities} identities, the training data has {available}; {advice}"
    )
