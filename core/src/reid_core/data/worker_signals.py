"""Signals in worker processes: the training process decides what they mean.

A scheduler or a terminal sends a signal to the whole process group. The training process then
finishes its step and saves; it needs its workers until it has left the loader.
"""

from __future__ import annotations

import os
import signal
from types import FrameType

#: Seconds after SIGTERM at which a worker leaves by itself, should nobody have stopped it.
GRACE_SECONDS = 60


def leave_signals_to_the_parent(worker_id: int) -> None:
    """Keep a worker alive when its process group is asked to stop; run in the worker.

    Args:
        worker_id: Its number; unused.
    """
    for name in ("SIGINT", "SIGUSR1"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGTERM, _leave_later)


def _leave_later(signum: int, frame: FrameType | None) -> None:
    # Without an end of its own, a worker that hangs would outlive the training process.
    signal.signal(signal.SIGALRM, _leave)
    signal.alarm(GRACE_SECONDS)


def _leave(signum: int, frame: FrameType | None) -> None:
    # Status 0: torch takes any other end for a crash and raises in the middle of whatever runs.
    os._exit(0)
