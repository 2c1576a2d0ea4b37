"""The random states of several processes, in one checkpoint."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import cast

from reid_core.checkpoint.random_state import random_state, set_random_state
from reid_core.distributed.processes import Processes
from reid_core.engine.parallel.start import seed_process

log = logging.getLogger("reid_core")

_KEY = "random_of_ranks"


def random_of_ranks(processes: Processes, *, is_failing: bool = False) -> dict[str, object]:
    """Return what a checkpoint holds of all processes' random states; nothing of a single one's.

    All processes have to ask.

    Args:
        processes: Those that train.
        is_failing: Whether this one is leaving with an error, when nobody would answer.
    """
    if processes.count == 1 or is_failing:
        return {}
    return {_KEY: processes.gather([random_state()])}


def set_random_of_rank(state: Mapping[str, object], processes: Processes, *, seed: int) -> None:
    """Set the global generators to what this process had when the checkpoint was made.

    With another number of processes there is no such state for each: the data stays what it is,
    random draws in the model do not; a warning says so.

    Args:
        state: A checkpoint.
        processes: Those that go on.
        seed: Seed of the run.
    """
    first = cast("dict[str, object]", state["random"])
    states = cast("list[dict[str, object]]", state.get(_KEY, [first]))
    if len(states) == processes.count:
        set_random_state(states[processes.rank])
        return
    log.warning(
        "resume: the checkpoint is of %d processes, now there are %d: batches and augmentation are "
        "the same, dropout and other random draws of the model are not, and sums are rounded in "
        "another order",
        len(states),
        processes.count,
    )
    set_random_state(first)
    seed_process(seed, processes, step=cast("int", state["step"]))
