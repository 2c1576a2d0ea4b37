"""How far a search for neighbours is, where it takes minutes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from time import monotonic

from torch import Tensor

from reid_core.evaluation.distances.neighbours import DistanceParts

log = logging.getLogger("reid_core")

#: Seconds between two lines.
SECONDS = 30.0


def with_progress(
    parts: DistanceParts, num_rows: int, *, name: str, clock: Callable[[], float] = monotonic
) -> DistanceParts:
    """Log every 30 seconds how many rows have been looked at.

    Args:
        parts: Gives the distances of a block of rows.
        num_rows: All rows, which are asked for in their order.
        name: Who searches.
        clock: Tells seconds.

    Returns:
        The same, with a line from time to time.
    """
    told = clock()

    def block(start: int, stop: int) -> Iterable[Tensor]:
        nonlocal told
        if clock() - told >= SECONDS:
            told = clock()
            log.info(
                "%s: neighbours: %d %% of %s rows", name, 100 * start // num_rows, f"{num_rows:,}"
            )
        return parts(start, stop)

    return block
