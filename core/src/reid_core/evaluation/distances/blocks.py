"""How the queries are cut into blocks, so that no full distance matrix ever exists."""

from __future__ import annotations

from reid_core.errors import UsageError

#: Distances in a block where the caller names no block size: 32 MB of float32.
BLOCK_VALUES = 2**23
#: Fewer queries a block would make slow products.
MIN_BLOCK_SIZE = 64
#: What a block needs for each pair of a query and a gallery entry: the distance, 4 bytes, and what
#: protocols and ranking make beside it, a few arrays of bool.
BYTES_PER_PAIR = 8


def block_bounds(
    num_query: int, num_gallery: int, block_size: int | None = None
) -> list[tuple[int, int]]:
    """Cut the queries into blocks.

    Args:
        num_query: Q.
        num_gallery: G.
        block_size: Queries a block; None keeps the distances of a block near 32 MB, or at 64
            queries where that is more.

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


def block_size_within(memory_limit: int, num_gallery: int) -> int:
    """Choose a block size from a budget of memory.

    Args:
        memory_limit: Bytes that a block of queries may take, all that is made for it included:
            ``2_000_000_000`` for 2 GB. The features are not part of it.
        num_gallery: G.

    Returns:
        Queries a block, at least 1, for the parameter ``block_size`` of the evaluation.

    Raises:
        UsageError: Not even one query fits; the message says what one needs.
    """
    needed = BYTES_PER_PAIR * max(1, num_gallery)
    if memory_limit < needed:
        raise UsageError(
            f"memory_limit is {memory_limit} bytes; expected at least {needed}, what one query "
            f"needs in a gallery of {num_gallery} entries ({BYTES_PER_PAIR} bytes each)"
        )
    return memory_limit // needed
