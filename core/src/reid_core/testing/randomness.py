"""The random generators of the process: seeded for a while, and watched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from reid_core.checkpoint.random_state import random_state, seed_everything, set_random_state


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed Python's, NumPy's and torch's global generators, and restore them afterwards.

    Args:
        seed: The seed inside.
    """
    before = random_state()
    seed_everything(seed)
    try:
        yield
    finally:
        set_random_state(before)


def moved_generators(before: dict[str, object], after: dict[str, object]) -> tuple[str, ...]:
    """Name the generators whose states differ.

    Args:
        before: What :func:`~reid_core.checkpoint.random_state.random_state` returned.
        after: What it returned later.
    """
    return tuple(name for name in before if not _is_equal(before[name], after[name]))


def used_generators(action: Callable[[], object]) -> tuple[str, ...]:
    """Name the global generators that an action draws from or seeds; they are restored.

    Args:
        action: Called once.
    """
    with seeded(0):
        before = random_state()
        action()
        return moved_generators(before, random_state())


def reseeded_generators(action: Callable[[], object]) -> tuple[str, ...]:
    """Name the global generators that an action sets, whatever their state was.

    Whoever seeds a global generator makes the rest of the run repeat itself. Drawing from one
    leaves different states behind when it began with different ones; seeding it does not.

    Args:
        action: Called twice.
    """
    ends = []
    starts = []
    for seed in (0, 1):
        with seeded(seed):
            starts.append(random_state())
            action()
            ends.append(random_state())
    different = moved_generators(starts[0], starts[1])
    still_different = moved_generators(ends[0], ends[1])
    return tuple(name for name in different if name not in still_different)


def _is_equal(left: object, right: object) -> bool:
    if isinstance(left, torch.Tensor) and isinstance(right, torch.Tensor):
        return torch.equal(left, right)
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        return all(_is_equal(a, b) for a, b in zip(left, right, strict=True))
    return left == right
