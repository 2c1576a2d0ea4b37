"""One message for an error that all processes have."""

from __future__ import annotations

import os
import time

#: Seconds that a process waits for the first one to say the same.
_PATIENCE = 2.0


def is_first_of_job() -> bool:
    """Say whether this process is the first one, or alone, before they join and after they left."""
    return os.environ.get("WORLD_SIZE", "1") == "1" or os.environ.get("RANK", "0") == "0"


def is_told_by_first(text: str) -> bool:
    """Say whether the first process shows this very message.

    Known only under torchrun, which keeps a store from before the processes join until after they
    have ended. Whatever the others alone have to say they say themselves.

    Args:
        text: The message that is about to be shown.
    """
    rank, count = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "1")
    if not rank.isdecimal() or count == "1":
        return False
    from reid_core.distributed.launcher_store import connect, has_launcher, restarts

    if not has_launcher():
        return False
    try:
        store = connect(f"told/{restarts()}")
        if store is None:
            return False
        if rank == "0":
            store.set("text", text)
            return False
        deadline = time.monotonic() + _PATIENCE
        while not store.check(["text"]):
            if time.monotonic() > deadline:
                return False
            time.sleep(_PATIENCE / 40)
        return store.get("text").decode() == text
    except RuntimeError:
        # The store has gone: better twice than not at all.
        return False
