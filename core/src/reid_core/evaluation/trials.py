"""Figures over several trials of one test set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from reid_core.evaluation.result import RetrievalResult


def mean_of_trials(
    results: Sequence[RetrievalResult], rows: Sequence[NDArray[np.int64]], *, num_rows: int
) -> RetrievalResult:
    """Average the figures of trials, each trial counting the same.

    Args:
        results: What each trial gave.
        rows: Row in the test set of each query of each trial.
        num_rows: Rows of the test set, queries and gallery.

    Returns:
        The means and their deviations; per-query arrays have an entry a row, NaN or 0 for what was
        never a valid query. Counts, those of queries too, are rounded means over the trials.
    """
    ap, inp = (
        _row_means([getattr(one, name) for one in results], rows, num_rows)
        for name in ("ap", "inp")
    )
    matches, candidates = (
        np.rint(
            np.nan_to_num(_row_means([_valid_counts(one, name) for one in results], rows, num_rows))
        ).astype(np.int64)
        for name in ("num_matches", "num_candidates")
    )
    num_asked, num_valid, num_unknown = (
        int(np.rint(np.mean(counts)))
        for counts in (
            [len(part) for part in rows],
            [one.num_valid_queries for one in results],
            [one.num_unknown for one in results],
        )
    )
    scalars = [one.scalars() for one in results]
    return replace(
        results[0],
        mAP=float(np.mean([one.mAP for one in results])),
        mINP=float(np.mean([one.mINP for one in results])),
        cmc=np.mean([one.cmc for one in results], axis=0),
        ap=ap,
        inp=inp,
        num_matches=matches,
        num_candidates=candidates,
        num_trials=len(results),
        num_asked=num_asked,
        num_valid=num_valid,
        # Both may have been rounded up.
        num_unknown=min(num_unknown, num_asked - num_valid),
        further={name: _mean(scalars, name) for name in results[0].further},
        num_tied=max(one.num_tied for one in results),
        deviations=deviations_of(scalars) if len(results) > 1 else {},
    )


def deviations_of(scalars: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the standard deviation over draws of each figure, of the sample (n - 1).

    Args:
        scalars: Figures of each of at least two draws, by name.

    Returns:
        By name.
    """
    return {name: float(np.std([one[name] for one in scalars], ddof=1)) for name in scalars[0]}


def _mean(scalars: Sequence[Mapping[str, float]], name: str) -> float:
    return float(np.mean([one[name] for one in scalars]))


def _valid_counts(result: RetrievalResult, name: str) -> NDArray[np.float64]:
    counts = np.asarray(getattr(result, name), dtype=np.float64)
    return np.where(result.num_matches > 0, counts, np.nan)


def _row_means(
    values: Sequence[NDArray[np.float64]], rows: Sequence[NDArray[np.int64]], num_rows: int
) -> NDArray[np.float64]:
    sums, counts = np.zeros(num_rows), np.zeros(num_rows)
    for part, where in zip(values, rows, strict=True):
        known = ~np.isnan(part)
        sums += np.bincount(where[known], weights=part[known], minlength=num_rows)
        counts += np.bincount(where[known], minlength=num_rows)
    means = np.full(num_rows, np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means
