"""How the queries are cut into blocks, so that no full distance matrix ever exists."""

from __future__ import annotations

from reid_core.errors import UsageError

#: Distances in a block where the caller names no block size: 16 MB of float32.
BLOCK_VALUES = 2**22
#: Fewer queries a block would make slow products.
MIN_BLOCK_SIZE = 64


def block_bounds(
    num_query: int, num_gallery: int, block_size: int | None = None
) -> list[tuple[int, int]]:
    """Cut the queries into blocks.

    Args:
        num_query: Q.
        num_gallery: G.
        block_size: Queries a block; None keeps the distances of a block near 16 MB.

    Returns:
        First row and row after the last of each block, in order.

    Raises:
        UsageError: ``block_size`` is below 1.
    """
    if block_size is None:
        block_size = max(MIN_BLOCK_SIZE, BLOCK_VALUES // max(1, num_gallery))
    if block_size < 1:
        raise UsageError(f"block_size is {block_size}; expected the queries a block, at least 1")
    return [
        (start, min(start + block_size, num_query)) for start in range(0, num_query, block_size)
    ]
