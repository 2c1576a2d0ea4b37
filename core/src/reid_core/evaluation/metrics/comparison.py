"""Is one run better than another, or is it chance? A paired test over identities."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reid_core.errors import DataError
from reid_core.evaluation.detail import Interval
from reid_core.evaluation.metrics.intervals import identity_sums, percentiles, resampled_means

#: Up to this many identities, all sign changes are tried instead of a sample.
_EXACT_IDENTITIES = 12
#: Sign changes that are held at a time.
_STEP_VALUES = 2**22


@dataclass(frozen=True)
class Comparison:
    """What two runs on the same queries tell about one another.

    Args:
        mean_a: Mean of the first run.
        mean_b: Mean of the second.
        difference: ``mean_b - mean_a``: above 0 where the second is better.
        interval: Bootstrap interval of the difference.
        p_value: Chance of a difference at least as large, in either direction, if it were open for
            each identity which run is the better one.
        num_queries: Queries that both are measured on.
        num_identities: Their identities.
    """

    mean_a: float
    mean_b: float
    difference: float
    interval: Interval
    p_value: float
    num_queries: int
    num_identities: int


def compare_runs(
    ap_a: Sequence[float | None] | NDArray[np.float64],
    ap_b: Sequence[float | None] | NDArray[np.float64],
    pids: Sequence[str] | NDArray[np.generic],
    pids_b: Sequence[str] | NDArray[np.generic] | None = None,
    *,
    level: float = 0.95,
    num_resamples: int = 10_000,
    num_permutations: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Compare two runs query by query.

    Both tests keep the queries of an identity together, because they are alike. The interval is the
    bootstrap's: identities drawn with replacement. The p-value is that of a sign-flip test: the
    differences of an identity change sign together, at random; with few identities all changes
    are tried.

    Args:
        ap_a: (Q,) AP a query of the first run, or another figure; None or NaN where skipped.
        ap_b: (Q,) the same of the second run, in the same order.
        pids: (Q,) identities of the queries.
        pids_b: (Q,) identities as the second run knows them, to check that queries are the same.
        level: Share of the resamples inside of the interval.
        num_resamples: Resamples of the bootstrap.
        num_permutations: Sign changes that are tried, at random.
        seed: Seed of both draws.

    Returns:
        The difference and how sure it is.

    Raises:
        DataError: The queries of the runs differ, or none is valid.
        UsageError: A parameter is out of range.

    Source: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapters 13 and 15.
    """
    a, b = (np.array([np.nan if v is None else v for v in ap], dtype=float) for ap in (ap_a, ap_b))
    identities = np.asarray(pids)
    _check_same_queries(a, b, identities, identities if pids_b is None else np.asarray(pids_b))
    sums, counts = identity_sums((b - a)[:, None], identities)
    means = resampled_means(sums, counts, num_resamples=num_resamples, seed=seed)[:, 0]
    known = ~np.isnan(a)
    return Comparison(
        mean_a=float(a[known].mean()),
        mean_b=float(b[known].mean()),
        difference=float(sums.sum() / counts.sum()),
        interval=Interval(*percentiles(means, level), level, num_resamples),
        p_value=_sign_flip(sums[:, 0], num_permutations, seed),
        num_queries=int(counts.sum()),
        num_identities=len(counts),
    )


def _check_same_queries(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    pids_a: NDArray[np.generic],
    pids_b: NDArray[np.generic],
) -> None:
    advice = "evaluate both on the same test set under the same protocol"
    if not len(a) == len(b) == len(pids_a) == len(pids_b):
        raise DataError(
            f"the runs cannot be compared: {len(a)} and {len(b)} queries with {len(pids_a)} and "
            f"{len(pids_b)} pids; expected one of each a query; {advice}"
        )
    other = np.flatnonzero(pids_a != pids_b)
    if other.size:
        first = int(other[0])
        raise DataError(
            f"the runs cannot be compared: {other.size} of {len(a)} queries show another identity, "
            f"the first is query {first}, {pids_a[first]} and {pids_b[first]}; {advice}"
        )
    odd = np.flatnonzero(np.isnan(a) != np.isnan(b))
    if odd.size:
        raise DataError(
            f"the runs cannot be compared: {odd.size} of {len(a)} queries are skipped in one run "
            f"only, the first is query {int(odd[0])}; {advice}"
        )
    if np.isnan(a).all():
        raise DataError(
            f"the runs cannot be compared: none of the {len(a)} queries has a figure; {advice}"
        )


def _sign_flip(sums: NDArray[np.float64], num_permutations: int, seed: int) -> float:
    """Return the share of sign changes whose sum is at least as far from 0 as the one observed."""
    # Sums that are equal on paper may differ in their last digits.
    observed = abs(sums.sum()) - 1e-12 * np.abs(sums).sum()
    if len(sums) <= _EXACT_IDENTITIES:
        signs = np.array(list(itertools.product((1.0, -1.0), repeat=len(sums))))
        return float(np.mean(np.abs(signs @ sums) >= observed))
    generator = np.random.default_rng(np.random.SeedSequence([seed, 1]))
    step = max(1, _STEP_VALUES // len(sums))
    hits = 0
    for start in range(0, num_permutations, step):
        rows = min(step, num_permutations - start)
        signs = generator.integers(0, 2, size=(rows, len(sums)), dtype=np.int8) * 2.0 - 1.0
        hits += int(np.count_nonzero(np.abs(signs @ sums) >= observed))
    # The observed order is one of those possible, so that no chance is ever 0.
    return (1 + hits) / (1 + num_permutations)
