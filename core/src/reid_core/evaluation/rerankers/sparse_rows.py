"""A table that is mostly zero, by rows (CSR)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Non-zero entries of N rows, one row after another, columns ascending within a row.

    Args:
        starts: (N + 1,) int64, where each row begins, and the end of the last.
        columns: (E,) int32.
        values: (E,) float32.
    """

    starts: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: NDArray[np.float32]

    @classmethod
    def joined(cls, parts: Iterable[SparseRows]) -> SparseRows:
        """Put the rows of several tables after one another."""
        kept = list(parts)
        counts = np.concatenate([np.zeros(1, np.int64), *(np.diff(part.starts) for part in kept)])
        return cls(
            np.cumsum(counts),
            np.concatenate([np.empty(0, np.int32), *(part.columns for part in kept)]),
            np.concatenate([np.empty(0, np.float32), *(part.values for part in kept)]),
        )

    def entries_of(self, rows: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Find the entries of some rows.

        Args:
            rows: (B,), in any order, also several times.

        Returns:
            (F,) places in ``columns`` and ``values``, and (F,) places in ``rows``.
        """
        return spans(self.starts[rows], self.starts[np.asarray(rows) + 1])


def spans(
    starts: NDArray[np.integer], stops: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count through several ranges, one after another.

    Args:
        starts: (R,) first of each range.
        stops: (R,) the one after the last of each.

    Returns:
        (F,) int64 members of the ranges, and (F,) int64 which range each is in.
    """
    lengths = np.asarray(stops, dtype=np.int64) - starts
    which = np.repeat(np.arange(len(lengths)), lengths)
    shift = np.asarray(starts, dtype=np.int64) - (np.cumsum(lengths) - lengths)
    return np.arange(len(which)) + shift[which], which
