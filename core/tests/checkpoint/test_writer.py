from __future__ import annotations

import threading

import pytest

from reid_core.checkpoint.writer import BackgroundWriter


def test_the_caller_goes_on_while_the_work_is_done():
    writer, may_end = BackgroundWriter(), threading.Event()
    writer.submit(lambda: may_end.wait(60) and threading.current_thread().name)
    assert writer.collect() is None, "it is not done yet"
    may_end.set()
    assert writer.collect(wait=True).startswith("reid-checkpoint")
    assert writer.collect(wait=True) is None, "a result is given once"


def test_an_error_of_the_work_arrives_once_where_it_is_collected():
    writer = BackgroundWriter()
    writer.submit(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        writer.collect(wait=True)
    assert writer.collect(wait=True) is None
    writer.submit(lambda: 3)
    assert writer.collect(wait=True) == 3
