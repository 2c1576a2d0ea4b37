"""Confidence intervals by the bootstrap over identities.

Queries of one identity are alike: whoever is hard to find is so in every picture. Resampling single
queries would take them for independent, and give intervals that are too narrow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from reid_core.errors import UsageError
from reid_core.evaluation.detail import Interval

#: Weights that one step of the resampling holds, 32 MB of float64.
_STEP_VALUES = 2**22


def bootstrap_intervals(
    values: Mapping[str, NDArray[np.float64]],
    pids: NDArray[np.int64],
    *,
    level: float = 0.95,
    num_resamples: int = 1000,
    seed: int = 0,
) -> dict[str, Interval]:
    """Compute percentile intervals of means over queries.

    Identities are drawn with replacement, as many as there are, each with all of its queries. All
    figures are resampled alike. The same seed gives the same intervals.

    Args:
        values: (Q,) float64 a figure, by name; NaN where a query was skipped.
        pids: (Q,) identities of the queries.
        level: Share of the resamples inside, above 0 and below 1.
        num_resamples: Resamples, at least 1.
        seed: Seed of the draws, at least 0.

    Returns:
        An interval a figure; none for a figure that no query has.

    Raises:
        UsageError: A parameter is out of range, or lengths differ.

    Source: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13; Davison and
    Hinkley, Bootstrap Methods and their Application, 1997, section 3.8 (clusters).
    """
    _check(level, num_resamples)
    measured = {name: column for name, column in values.items() if not np.isnan(column).all()}
    if not measured:
        return {}
    sums, counts = identity_sums(np.stack(list(measured.values()), axis=1), pids)
    means = resampled_means(sums, counts, num_resamples=num_resamples, seed=seed)
    return {
        name: Interval(*percentiles(means[:, column], level), level, num_resamples)
        for column, name in enumerate(measured)
    }


def identity_sums(
    values: NDArray[np.float64], pids: NDArray[np.generic]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Add up figures by identity.

    Args:
        values: (Q, M) float64, a column a figure; NaN where a query was skipped.
        pids: (Q,) identities.

    Returns:
        (I, M) float64 sums, and (I, M) float64 numbers of queries, of the identities that have any.

    Raises:
        UsageError: The lengths differ.
    """
    if len(values) != len(pids):
        raise UsageError(
            f"there are {len(values)} values a figure and {len(pids)} pids; "
            "expected one of each a query"
        )
    known = ~np.isnan(values)
    rows = known.any(axis=1)
    distinct, codes = np.unique(pids[rows], return_inverse=True)
    shape = (len(distinct), values.shape[1])
    sums, counts = np.zeros(shape), np.zeros(shape)
    np.add.at(sums, codes, np.where(known, values, 0.0)[rows])
    np.add.at(counts, codes, known[rows])
    return sums, counts


def resampled_means(
    sums: NDArray[np.float64], counts: NDArray[np.float64], *, num_resamples: int, seed: int
) -> NDArray[np.float64]:
    """Draw identities with replacement, and return the means over their queries.

    Args:
        sums: (I, M) float64 sums of the figures, an identity.
        counts: (I, M) float64 queries an identity.
        num_resamples: R.
        seed: Seed of the draws.

    Returns:
        (R, M) float64; NaN where a resample has no query.
    """
    parts = []
    for weights in _weights(len(sums), num_resamples, seed):
        with np.errstate(invalid="ignore"):
            parts.append((weights @ sums) / (weights @ counts))
    return np.concatenate(parts)


def percentiles(means: NDArray[np.float64], level: float) -> tuple[float, float]:
    """Return the ends of the central interval that holds a share of the values."""
    low, high = np.nanquantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _weights(num: int, num_resamples: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Yield how often each identity was drawn, some resamples at a time."""
    generator = np.random.default_rng(np.random.SeedSequence(seed))
    step = max(1, _STEP_VALUES // num)
    for start in range(0, num_resamples, step):
        rows = min(step, num_resamples - start)
        drawn = generator.integers(0, num, size=(rows, num))
        drawn += np.arange(rows)[:, None] * num
        yield np.bincount(drawn.ravel(), minlength=rows * num).reshape(rows, num).astype(float)


def _check(level: float, num_resamples: int) -> None:
    if not 0 < level < 1:
        raise UsageError(f"level is {level:g}; expected a share above 0 and below 1, such as 0.95")
    if num_resamples < 1:
        raise UsageError(f"num_resamples is {num_resamples}; expected at least 1")
