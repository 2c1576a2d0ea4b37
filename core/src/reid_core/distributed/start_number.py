"""Which start of a job this is, of those that a launcher makes after a failure.

What torchrun keeps for its processes outlives them: a start that read what the last one left would
look for processes that are dead. Its own count of restarts does not tell starts apart, because it
is kept by each machine, and a machine that joins later makes a start that counts nowhere.
"""

from __future__ import annotations

import time
import uuid

from reid_core.distributed.launcher_store import SharedStore
from reid_core.errors import TrainingError

#: Seconds between two looks for processes that have come.
_PAUSE = 0.02


def agreed_start(store: SharedStore, rank: int, count: int, *, timeout_seconds: float) -> int:
    """Return the number of this start, from 1, the same in all of its processes.

    The first process takes a new number and tells it to each process that asks, by a name that no
    earlier one had. All processes have to call it.

    Args:
        store: What the launcher keeps.
        rank: Number of this process.
        count: How many there are.
        timeout_seconds: How long a process waits for the others.

    Raises:
        TrainingError: A process did not come in time.
    """
    deadline = time.monotonic() + timeout_seconds
    if rank > 0:
        name = uuid.uuid4().hex
        store.set(f"name/{rank}", name)
        while not store.check([f"number/{name}"]):
            _wait(deadline, "process 0 has not come")
        number = int(store.get(f"number/{name}"))
        store.set(f"came/{number}/{rank}", "")
        return number
    number = store.add("starts", 1)
    missing = list(range(1, count))
    while missing:
        for other in missing:
            if store.check([f"name/{other}"]):
                store.set(f"number/{store.get(f'name/{other}').decode()}", str(number))
        missing = [other for other in missing if not store.check([f"came/{number}/{other}"])]
        if missing:
            _wait(deadline, f"{len(missing)} processes have not come, process {missing[0]} first")
    return number


def _wait(deadline: float, what: str) -> None:
    if time.monotonic() > deadline:
        raise TrainingError(
            f"the processes of this job did not come together in time: {what}; look for its own "
            "message, and whether all machines reach MASTER_ADDR and MASTER_PORT, or wait longer "
            "by train.distributed.timeout_minutes"
        )
    time.sleep(_PAUSE)
