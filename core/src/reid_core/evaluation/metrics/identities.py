"""Figures an identity: who is hard to find."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reid_core.evaluation.detail import IdentityScore


def identity_scores(
    ap: NDArray[np.float64], pids: Sequence[str] | NDArray[np.str_]
) -> list[IdentityScore]:
    """Compute the mean AP of each identity.

    Args:
        ap: (Q,) float64 AP a query; NaN where it was skipped.
        pids: (Q,) identities as text.

    Returns:
        The identities with a valid query, worst first, in the order of their names where equal.
    """
    known = ~np.isnan(ap)
    if not known.any():
        return []
    names, codes = np.unique(np.asarray(pids)[known], return_inverse=True)
    counts = np.bincount(codes)
    means = np.bincount(codes, weights=ap[known]) / counts
    return [
        IdentityScore(str(names[at]), float(means[at]), int(counts[at]))
        for at in np.argsort(means, kind="stable").tolist()
    ]
