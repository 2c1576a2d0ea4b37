"""Lets the failure of one process end all of them, with its words and its exit code."""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch.distributed as dist

from reid_core.distributed.failure import LAUNCHER, Failure, OtherProcessError, is_consequence
from reid_core.distributed.launcher_store import (
    SharedStore,
    connect,
    has_launcher,
)
from reid_core.distributed.processes import Processes
from reid_core.distributed.told_once import is_told_by_first
from reid_core.errors import Interrupted

log = logging.getLogger("reid_core")

_FAILURE = "failure"


@dataclass(frozen=True)
class WatchTimes:
    """How patient the watch is; all in seconds.

    Args:
        beat: Between two signs of life.
        silence: Without a sign of life, until a process counts as gone. Counted in beats of the
            one who waits, so that no clock and no pause of the whole machine matters.
        notice: That a main thread has to end by itself after another process failed.
        wind_up: That it has to finish its hooks once it ends.
        reason: That a process whose exchange failed waits for the one that knows why.
    """

    beat: float = 0.5
    silence: float = 30.0
    notice: float = 5.0
    wind_up: float = 300.0
    reason: float = 3.0


class FailureWatch:
    """Watches the other processes of a job, in a thread of its own.

    A process that fails leaves what it has to say in the store of the job; the first one counts.
    Each process also leaves signs of life, and watches those of the next one: a process that is
    killed leaves no words. The main thread of the others ends by itself where it can: an exchange
    fails, or :meth:`check` says it. Where it cannot, in an exchange that never returns, the thread
    ends the process.

    Args:
        store: Texts that all processes of the job share.
        rank: Number of this process.
        count: How many there are.
        times: How patient it is.
        is_host: Whether the store lives in this process, so that it has to leave last.
        leave: Ends the process with an exit code at once.
        is_bound: Whether the process, when its work is over, still has the group of the job: what
            takes that apart may never return.

    Attributes:
        at_forced_exit: Called with the failure before the thread ends the process.
    """

    def __init__(
        self,
        store: SharedStore,
        rank: int,
        count: int,
        *,
        times: WatchTimes | None = None,
        is_host: bool = False,
        leave: Callable[[int], None] = os._exit,
        is_bound: Callable[[], bool] = dist.is_initialized,
    ) -> None:
        self._store = store
        self._rank = rank
        self._count = count
        self._times = times or WatchTimes()
        self._is_host = is_host
        self._leave = leave
        self._is_bound = is_bound
        self.at_forced_exit: Callable[[Failure], None] | None = None
        self._next = (rank + 1) % count
        self._last_beat, self._silent_beats = 0, 0
        self._known: Failure | None = None
        self._explained: BaseException | None = None
        self._is_interrupted = False
        self._is_closed = threading.Event()
        self._is_ending = threading.Event()
        self._is_over = threading.Event()
        self._store.set(f"who/{rank}", f"host {socket.gethostname()}, pid {os.getpid()}")
        self._thread = threading.Thread(target=self._run, name="failure-watch", daemon=True)
        self._thread.start()

    # What the main thread does.

    def check(self) -> None:
        """End here because another process has failed; costs nothing.

        Raises:
            OtherProcessError: It has.
        """
        if self._known is not None and self._known.rank != self._rank:
            raise OtherProcessError(self._known)

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Tell the others what is raised in here; may be nested.

        Raises:
            OtherProcessError: What was raised is but the consequence of another's failure.
        """
        try:
            yield
        except BaseException as error:
            explained = self._explain(error)
            self._explained = explained
            if explained is error:
                raise
            raise explained from error

    def close(self) -> None:
        """Leave the job: the others do not miss this process any more.

        The process in which the store lives waits for them.

        Raises:
            OtherProcessError: Another process has failed, or fails meanwhile.
        """
        if self._explained is not None and not self._is_interrupted:
            self._close_failed()
            return
        self._is_ending.set()
        try:
            if not self._is_interrupted:
                self.check()
            self._store.set(f"ended/{self._rank}", "")
            self._wait_for_others()
        except RuntimeError as error:
            if not self._is_interrupted:
                raise OtherProcessError(_lost_store()) from error
        finally:
            self._is_over.set()
            self._is_closed.set()
        self._thread.join()

    def _wait_for_others(self) -> None:
        while self._rank == 0 and not self._have_all("ended"):
            time.sleep(self._times.beat / 5)
            if self._known is not None and self._is_interrupted:
                return
            self.check()

    def _close_failed(self) -> None:
        """Let the thread live: what takes the group apart now may hang."""
        self._is_over.set()
        deadline = time.monotonic() + self._times.reason
        while self._is_host and time.monotonic() < deadline and not self._all_know():
            time.sleep(self._times.beat / 5)

    def _all_know(self) -> bool:
        failed = self._known.rank if self._known is not None else self._rank
        return self._have_all("knows", but=failed)

    def _have_all(self, key: str, but: int | None = None) -> bool:
        others = [rank for rank in range(self._count) if rank not in (self._rank, but)]
        return all(self._store.check([f"{key}/{rank}"]) for rank in others)

    def _explain(self, error: BaseException) -> BaseException:
        """Post a failure of this process' own, or find the one behind an error."""
        if error is self._explained or isinstance(error, GeneratorExit):
            return error
        self._is_ending.set()
        if isinstance(error, OtherProcessError):
            return error
        if isinstance(error, Interrupted):
            # All agreed upon it: each of them ends by itself, and saves.
            self._is_interrupted = True
            return error
        try:
            first = self._reason() if is_consequence(error) else None
            self._known = first or self._post(Failure.of(self._rank, error))
            self._store.set(f"knows/{self._rank}", "")
        except RuntimeError:
            # Nobody is left to tell it to.
            self._known = first = _lost_store() if is_consequence(error) else None
        return error if first is None or first.rank == self._rank else OtherProcessError(first)

    def _reason(self) -> Failure | None:
        """Wait for the words of the process that failed first; None if nobody has any."""
        others = [rank for rank in range(self._count) if rank != self._rank]
        before = {rank: self._beat_of(rank) for rank in others}
        deadline = time.monotonic() + self._times.reason
        while time.monotonic() < deadline:
            if self._store.check([_FAILURE]):
                return self._first()
            time.sleep(self._times.beat / 10)
        for rank in others:
            is_silent = before[rank] > 0 and self._beat_of(rank) == before[rank]
            if is_silent and not self._store.check([f"ended/{rank}"]):
                return self._post(self._gone(rank))
        return None

    # What both do.

    def _post(self, failure: Failure) -> Failure:
        """Leave a failure in the store if it is the first; return the first one."""
        return Failure.from_text(self._store.compare_set(_FAILURE, "", failure.to_text()).decode())

    def _first(self) -> Failure:
        return Failure.from_text(self._store.get(_FAILURE).decode())

    def _beat_of(self, rank: int) -> int:
        return self._store.add(f"beat/{rank}", 0)

    def _gone(self, rank: int) -> Failure:
        key = f"who/{rank}"
        is_known = self._store.check([key])
        return Failure.gone(rank, self._store.get(key).decode() if is_known else "")

    # What the thread does.

    def _run(self) -> None:
        while not self._is_closed.wait(self._times.beat):
            try:
                failure = self._look()
            except RuntimeError:
                failure = None if self._is_closed.is_set() else _lost_store()
            if failure is not None:
                self._known = failure
                self._end(failure)
                return

    def _look(self) -> Failure | None:
        self._store.add(f"beat/{self._rank}", 1)
        if self._store.check([_FAILURE]):
            self._store.set(f"knows/{self._rank}", "")
            return self._first()
        return self._look_at_next()

    def _look_at_next(self) -> Failure | None:
        if self._next == self._rank:
            return None
        if self._store.check([f"ended/{self._next}"]):
            self._next = (self._next + 1) % self._count
            self._last_beat, self._silent_beats = 0, 0
            return None
        beat = self._beat_of(self._next)
        self._silent_beats = self._silent_beats + 1 if beat == self._last_beat else 0
        self._last_beat = beat
        # One that has not begun yet is not missed.
        if beat == 0 or self._silent_beats * self._times.beat < self._times.silence:
            return None
        return self._post(self._gone(self._next))

    def _end(self, failure: Failure) -> None:
        """Give the main thread time to end by itself, then end the process."""
        if not self._is_ending.wait(self._times.notice):
            self._force(failure, tells=True)
            return
        if self._is_interrupted:
            return
        if not self._is_over.wait(self._times.wind_up):
            self._force(failure, tells=True)
        elif not self._is_closed.wait(self._times.notice) and self._is_bound():
            self._force(failure, tells=False)

    def _force(self, failure: Failure, *, tells: bool) -> None:
        if tells:
            if self.at_forced_exit is not None:
                try:
                    self.at_forced_exit(failure)
                except Exception:
                    log.exception("the failure could not be written to the run folder")
            told = f"error: {failure.sentence}"
            if not is_told_by_first(told):
                sys.stderr.write(f"{told}\n")
                sys.stderr.flush()
        self._leave(failure.exit_code)


def _lost_store() -> Failure:
    """Return what it means that the store does not answer any more."""
    if not has_launcher():
        return Failure.gone(0, "")
    text = (
        "torchrun is gone: it was killed, here or on the first machine, and nothing keeps the "
        "processes together any more"
    )
    return Failure(LAUNCHER, "", text, 1)


@contextmanager
def watched(processes: Processes) -> Iterator[FailureWatch | None]:
    """Watch the processes of a job while the context is open.

    Args:
        processes: Those of the job; one alone needs no watch.

    Yields:
        The watch; None for one process, or where the job has no store that can be found by
        ``MASTER_ADDR`` and ``MASTER_PORT``.

    Raises:
        OtherProcessError: Another process failed.
    """
    store = connect(f"watch/{processes.start}") if processes.count > 1 else None
    if store is None:
        yield None
        return
    is_host = processes.is_first and not has_launcher()
    watch = FailureWatch(store, processes.rank, processes.count, is_host=is_host)
    try:
        with watch.guard():
            yield watch
    finally:
        watch.close()
