"""Identities and cameras as numbers."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from reid_core.data.manifest import IdArray


def numbered(ids: IdArray) -> tuple[IdArray, NDArray[np.int64]]:
    """Return the distinct values, sorted, and the position of each row's value among them.

    Text goes through a dictionary, which takes a fifth of the time of sorting a million of them.

    Args:
        ids: (N,) integers or text.

    Returns:
        The values (K,), and (N,) int64.
    """
    if ids.dtype.kind in "iu":
        values, inverse = np.unique(ids, return_inverse=True)
        return cast("IdArray", values), inverse.astype(np.int64)
    listed = ids.tolist()
    known = sorted(set(listed))
    position = {value: number for number, value in enumerate(known)}
    codes = np.fromiter(map(position.__getitem__, listed), dtype=np.int64, count=len(listed))
    return cast("IdArray", np.array(known, dtype=ids.dtype)), codes
