"""How much memory k-reciprocal re-ranking adds, known before anything is allocated."""

from __future__ import annotations

from dataclasses import dataclass

from reid_core.errors import DataError
from reid_core.evaluation.rerankers.jaccard import MEETINGS, PART_ROWS
from reid_core.evaluation.rerankers.reciprocal import TABLE_CELLS, most_members

GIGABYTE = 10**9
MEGABYTE = 10**6
#: Distances in a block of the search for neighbours, 64 MB of float32.
BLOCK_VALUES = 2**24
#: Rows a block, fewer of which would make slow products.
MIN_BLOCK_ROWS = 64
#: Bytes that a distance of a block takes while it is made and searched: the block, its part
#: before it is put in place, and what euclidean distances add.
BLOCK_BYTES = 14
#: Bytes an entry of a set, and one of a part of the index while it is made.
ENTRY_BYTES = 8
MAKING_BYTES = 64
#: Bytes that a meeting, and a cell of the table of members, take.
MEETING_BYTES = 40
CELL_BYTES = 16


@dataclass(frozen=True)
class Need:
    """The memory that a re-ranking adds at most.

    Args:
        name: The reranker.
        num_query: Q.
        num_gallery: G.
        num_bytes: What it adds at most, features in float32 included.
        block_rows: Rows a block of the search.
        limit_gb: What it may add.
    """

    name: str
    num_query: int
    num_gallery: int
    num_bytes: int
    block_rows: int
    limit_gb: float

    def line(self) -> str:
        """Say in one line what is needed, and what a matrix of all distances would take."""
        return (
            f"{self.name}: {self.num_query} queries and {self.num_gallery} gallery entries add at "
            f"most {size(self.num_bytes)} (limit {self.limit_gb:g} GB); "
            f"{self._dense()}, and is not made"
        )

    def require(self) -> None:
        """Refuse what does not fit.

        Raises:
            DataError: More is needed than may be added.
        """
        if self.num_bytes <= self.limit_gb * GIGABYTE:
            return
        raise DataError(
            f"{self.name}: {self.num_query} queries and {self.num_gallery} gallery entries add up "
            f"to {size(self.num_bytes)}, and memory_limit_gb is {self.limit_gb:g}; "
            f"set memory_limit_gb to {self.num_bytes / GIGABYTE + 0.01:.2f} or more, or k1 or k2 "
            f"lower, or evaluate without it ({self._dense()})"
        )

    def _dense(self) -> str:
        rows = self.num_query + self.num_gallery
        return f"the matrix of all distances would take {rows}² x 4 B = {size(rows**2 * 4)}"


def size(num_bytes: int) -> str:
    """Write a number of bytes for people, in GB; in MB where it is below 0.01 GB.

    Args:
        num_bytes: At least 0.
    """
    if num_bytes < GIGABYTE // 100:
        return f"{num_bytes / MEGABYTE:.2f} MB"
    return f"{num_bytes / GIGABYTE:.2f} GB"


def need_of(name: str, sizes: tuple[int, int, int], *, k1: int, k2: int, limit_gb: float) -> Need:
    """Compute the need, with blocks as large as the limit allows.

    Args:
        name: The reranker.
        sizes: Q, G and D.
        k1: Neighbours of a row.
        k2: Rows whose sets are averaged.
        limit_gb: What may be added, in gigabytes.

    Returns:
        The need.
    """
    num_query, num_gallery, width = sizes
    num_rows = max(1, num_query + num_gallery)
    fixed = _fixed_bytes(num_rows, width, k1=k1, k2=k2)
    least = min(MIN_BLOCK_ROWS, num_rows)
    wanted = min(max(least, BLOCK_VALUES // num_rows), num_rows)
    room = int((limit_gb * GIGABYTE - fixed) // (num_rows * BLOCK_BYTES))
    block_rows = max(least, min(wanted, room))
    num_bytes = fixed + block_rows * num_rows * BLOCK_BYTES
    return Need(name, num_query, num_gallery, num_bytes, block_rows, limit_gb)


def _fixed_bytes(num_rows: int, width: int, *, k1: int, k2: int) -> int:
    near = min(max(k1 + 1, k2), num_rows)
    members = min(most_members(k1), num_rows)
    averaged = min(members * k2, num_rows)
    part = min(PART_ROWS, num_rows)
    cells = max(TABLE_CELLS, num_rows)
    features = num_rows * width * 4
    tables = num_rows * (near * 10 + (members + averaged) * ENTRY_BYTES + 32)
    # Each part of the index has the start of every member's list.
    starts = (num_rows // part + 2) * (num_rows + 1) * 8
    making = part * min(members * k2, num_rows) * MAKING_BYTES
    return features + tables + starts + making + MEETINGS * MEETING_BYTES + cells * CELL_BYTES
