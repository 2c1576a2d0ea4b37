from __future__ import annotations

import threading

import pytest

from reid_core.tracking.sender import Sender


@pytest.fixture
def gate():
    """An event that jobs wait for; set at the end, so that no thread outlives a test."""
    event = threading.Event()
    yield event
    event.set()


def test_jobs_are_done_in_order_and_in_another_thread():
    done, threads = [], set()
    sender = Sender("test")
    for number in range(20):
        sender.put(lambda n=number: (done.append(n), threads.add(threading.current_thread().name)))
    assert sender.close(60) == 0
    assert done == list(range(20))
    assert threads == {"test"}


def test_rows_that_come_while_too_many_wait_are_dropped_and_counted(gate):
    done, begun = [], threading.Event()
    sender = Sender("test", capacity=2)
    sender.put(lambda: (begun.set(), gate.wait()))
    begun.wait()
    assert [sender.put_row(lambda n=n: done.append(n)) for n in range(4)] == [True] * 2 + [
        False
    ] * 2
    sender.put(lambda: done.append("never dropped"))
    assert sender.dropped == 2
    gate.set()
    assert sender.close(60) == 0
    assert done == [0, 1, "never dropped"]


def test_what_a_job_raises_ends_the_work_and_is_raised_when_asked_for():
    done = []
    sender = Sender("test")
    sender.put(lambda: 1 / 0)
    sender.put(lambda: done.append(1))
    assert sender.wait(60)
    assert sender.close(60) == 0
    with pytest.raises(ZeroDivisionError):
        sender.raise_error()
    assert done == []


def test_a_library_that_leaves_the_process_raises_an_error_instead():
    def leave():
        raise SystemExit("not logged in")

    sender = Sender("test")
    sender.put(leave)
    sender.close(60)
    with pytest.raises(RuntimeError, match="SystemExit: not logged in"):
        sender.raise_error()


def test_a_job_that_hangs_is_left_behind_with_those_after_it(gate):
    done, begun = [], threading.Event()
    sender = Sender("test")
    sender.put(lambda: (begun.set(), gate.wait()))
    sender.put(lambda: done.append(1))
    begun.wait()
    assert not sender.wait(0)
    assert sender.close(0) >= 2
    gate.set()
    sender._thread.join()
    assert done == [], "what was given up is not done later"
