"""Counting of labels without looking at every pair."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def count_together(
    wanted: Sequence[NDArray[np.int64]], offered: Sequence[NDArray[np.int64]]
) -> NDArray[np.int64]:
    """Count how often the values of each wanted row stand together in a row that is offered.

    Args:
        wanted: Columns, (Q,) each.
        offered: As many columns, (G,) each.

    Returns:
        (Q,) int64.
    """
    columns = [np.concatenate(pair) for pair in zip(wanted, offered, strict=True)]
    codes = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        values, numbers = np.unique(column, return_inverse=True)
        codes = codes * len(values) + numbers
    values, codes = np.unique(codes, return_inverse=True)
    num_wanted = len(wanted[0])
    counts = np.bincount(codes[num_wanted:], minlength=len(values))
    return counts[codes[:num_wanted]].astype(np.int64)
