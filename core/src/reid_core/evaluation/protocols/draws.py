"""Random galleries of benchmarks that publish the mean over several of them."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reid_core.errors import ConfigError
from reid_core.evaluation.protocols.base import Trial


def require_draws(draws: int, seed: int, *, protocol: str) -> None:
    """Check what a config says of draws.

    Args:
        draws: How many there are.
        seed: What they are seeded with.
        protocol: The protocol's name, for the message.

    Raises:
        ConfigError: ``draws`` is no whole number above 0, or ``seed`` is negative.
    """
    for name, value, low in (("draws", draws, 1), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, int) or value < low:
            raise ConfigError(
                f"protocol {protocol}: {name} is {value!r}; expected a whole number from {low} on"
            )


def draws_text(draws: int, seed: int) -> str:
    """Return how a description states its draws."""
    return f"{'1 draw' if draws == 1 else f'mean of {draws} draws'}, seed {seed}"


def grouped_rows(rows: NDArray[np.int64], *columns: NDArray[np.int64]) -> list[list[int]]:
    """Put rows into groups of equal labels.

    Args:
        rows: (N,) int64 rows.
        columns: (N,) int64 each, what they are grouped by, the first column first.

    Returns:
        The groups in the order of their labels, each with its rows in the order given.
    """
    groups: dict[tuple[int, ...], list[int]] = {}
    keys = zip(*(column.tolist() for column in columns), strict=True)
    for row, key in zip(rows.tolist(), keys, strict=True):
        groups.setdefault(key, []).append(row)
    return [group for _, group in sorted(groups.items())]


def published_draws(
    groups: Sequence[Sequence[int]],
    query: NDArray[np.int64],
    *,
    shots: int = 1,
    draws: int,
    seed: int,
) -> list[Trial]:
    """Draw galleries as the published code of several benchmarks does.

    That code draws by Python's generator, seeded with the number of the draw, group after group.

    Args:
        groups: Rows that one entry, or several, are drawn from.
        query: (Q,) int64 rows of the queries, the same in each trial.
        shots: Entries of each group; a smaller group gives all it has.
        draws: How many galleries.
        seed: Number of the first draw; the others count on from it.

    Returns:
        A trial a draw.
    """
    trials = []
    for number in range(seed, seed + draws):
        generator = random.Random(number)
        if shots == 1:
            drawn = [generator.choice(group) for group in groups]
        else:
            drawn = [
                row for group in groups for row in generator.sample(group, min(shots, len(group)))
            ]
        trials.append(Trial(query, np.array(drawn, dtype=np.int64)))
    return trials
