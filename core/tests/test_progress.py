from __future__ import annotations

import io
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from reid_core import progress
from reid_core.progress import PLAIN_INTERVAL_SECONDS, track


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_items_pass_unchanged_and_silent_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert list(track(iter("abc"), total=3, description="reading")) == ["a", "b", "c"]
    assert capsys.readouterr() == ("", "")


def test_a_plain_line_is_written_each_interval_and_only_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    step = PLAIN_INTERVAL_SECONDS * 0.6  # start, then one reading of the clock for each item
    clock = iter(step * i for i in range(6))
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    assert list(track(range(5), total=5, description="reading images")) == [0, 1, 2, 3, 4]
    assert capsys.readouterr().err.splitlines() == [
        "reading images: 1/5 (12 s)",
        "reading images: 3/5 (24 s)",
    ]


def test_items_are_taken_one_at_a_time() -> None:
    taken: list[int] = []

    def source() -> Iterator[int]:
        for i in range(3):
            taken.append(i)
            yield i

    tracked = track(source(), total=3, description="reading")
    next(tracked)
    assert taken == [0]


def test_a_terminal_gets_a_bar_with_the_description(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    assert list(track([1, 2], total=2, description="reading images")) == [1, 2]
    assert "reading images" in terminal.getvalue()


def test_an_error_of_the_source_comes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    def source() -> Iterator[int]:
        yield 1
        raise OSError("disk")

    for stream in (io.StringIO(), Terminal()):
        monkeypatch.setattr("sys.stderr", stream)
        with pytest.raises(OSError, match="disk"):
            list(track(source(), total=2, description="reading"))
