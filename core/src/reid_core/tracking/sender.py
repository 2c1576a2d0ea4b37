"""A thread that does the slow calls of a tracker, in order, while training goes on."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

#: Something to be done.
Job = Callable[[], object]


class Sender:
    """Does jobs one after the other in a thread of its own.

    The first job that raises is the last one that is done. The thread never keeps a process alive:
    a job that hangs is left behind.

    Args:
        name: Name of the thread.
        capacity: Rows that may wait; those that come then are dropped and counted.
    """

    def __init__(self, name: str, *, capacity: int = 1000) -> None:
        self._capacity = capacity
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._is_given_up = threading.Event()
        self._has_ended = threading.Event()
        # What wait() waits for.
        self._mark = threading.Event()
        self._error: BaseException | None = None
        #: Rows that were dropped.
        self.dropped = 0
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def put(self, job: Job) -> None:
        """Add a job that is never dropped."""
        self._jobs.put(job)

    def put_row(self, job: Job) -> bool:
        """Add a job that is dropped when too many wait already.

        Returns:
            Whether it was added.
        """
        if self._jobs.qsize() >= self._capacity:
            self.dropped += 1
            return False
        self._jobs.put(job)
        return True

    def raise_error(self) -> None:
        """Raise what a job raised, here.

        Raises:
            Exception: That of the job; what is none, ``SystemExit`` say, as a RuntimeError.
        """
        error = self._error
        if error is None:
            return
        if isinstance(error, Exception):
            raise error
        raise RuntimeError(f"{type(error).__name__}: {error}") from error

    def wait(self, seconds: float) -> bool:
        """Wait until all that was put so far is done, or a job has failed.

        Args:
            seconds: The longest time to wait, from 0.

        Returns:
            Whether nothing is to be waited for any more.
        """
        self._mark = mark = threading.Event()
        self._jobs.put(mark.set)
        # In this order: the thread ends in the other one.
        return self._has_ended.is_set() or mark.wait(seconds)

    def close(self, seconds: float) -> int:
        """End the thread when all jobs are done, or time is over.

        Args:
            seconds: The longest time to wait, from 0.

        Returns:
            Jobs that were left, with the one that was being done.
        """
        self._jobs.put(None)
        self._thread.join(seconds)
        if not self._thread.is_alive():
            return 0
        self._is_given_up.set()
        return self._jobs.qsize()

    def _work(self) -> None:
        self._do_jobs()
        self._has_ended.set()
        self._mark.set()

    def _do_jobs(self) -> None:
        while (job := self._jobs.get()) is not None and not self._is_given_up.is_set():
            try:
                job()
            except BaseException as error:
                self._error = error
                return
