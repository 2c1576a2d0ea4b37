"""One thread that writes while training goes on."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

T = TypeVar("T")


class BackgroundWriter(Generic[T]):
    """Does one piece of work at a time in a thread of its own.

    At most one piece is pending, so that no queue of states fills the memory. Python waits for the
    thread before it exits.
    """

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None
        self._pending: Future[T] | None = None

    def submit(self, work: Callable[[], T]) -> None:
        """Begin a piece of work; the one before it must have been collected.

        Args:
            work: Called in the thread. What it uses belongs to it from now on.
        """
        assert self._pending is None, "collect(wait=True) comes before the next submit()"
        if self._threads is None:
            self._threads = ThreadPoolExecutor(1, thread_name_prefix="reid-checkpoint")
        self._pending = self._threads.submit(work)

    def collect(self, *, wait: bool = False) -> T | None:
        """Take the result of the pending piece of work.

        Args:
            wait: Whether to wait until it is done.

        Returns:
            What it returned, once; None where nothing is pending, or it is not done yet.

        Raises:
            BaseException: What the work raised.
        """
        pending = self._pending
        if pending is None or not (wait or pending.done()):
            return None
        try:
            return pending.result()
        finally:
            # Not after a Ctrl-C during the wait: the work is still going on.
            if pending.done():
                self._pending = None
