"""SIGTERM and Ctrl-C: finish the step, save, leave."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reid_core.engine.trainer_base import TrainerBase


@contextmanager
def graceful_signals(trainer: TrainerBase) -> Iterator[None]:
    """Let SIGTERM, SIGINT and SIGUSR1 end training between two steps while the context is open.

    A second SIGINT ends it at once. Does nothing outside of the main thread, where Python cannot
    set handlers.

    Args:
        trainer: Its :meth:`request_stop` is called.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    interrupted = False

    def handle(signum: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        if signum == signal.SIGINT and interrupted:
            raise KeyboardInterrupt
        interrupted = True
        trainer.request_stop(signum)
        if not trainer.is_first:
            return  # a launcher passes a signal on to all: one of them says it
        sys.stderr.write(
            f"{signal.Signals(signum).name}: finishing the step and saving"
            f"{' (Ctrl-C again to leave at once)' if signum == signal.SIGINT else ''}\n"
        )

    names = [name for name in ("SIGTERM", "SIGINT", "SIGUSR1") if hasattr(signal, name)]
    previous = {getattr(signal, n): signal.signal(getattr(signal, n), handle) for n in names}
    try:
        yield
    finally:
        for signum, handler in previous.items():
            signal.signal(signum, handler)
