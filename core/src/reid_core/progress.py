"""Progress of anything that takes time: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

#: Seconds between two plain lines where there is no terminal.
PLAIN_INTERVAL_SECONDS = 10.0


def track(items: Iterable[T], *, total: int, description: str) -> Iterator[T]:
    """Yield ``items`` and show how far they are on standard error.

    Args:
        items: What to pass on.
        total: How many there will be.
        description: A few words, such as ``"drawing synthetic images"``.

    Yields:
        The items, unchanged and in order.
    """
    if sys.stderr.isatty():
        # Imported here: rich costs 65 ms that `--help` and listings need not pay.
        from rich.console import Console
        from rich.progress import track as rich_track

        console = Console(stderr=True)
        yield from rich_track(
            items, total=total, description=description, console=console, transient=True
        )
        return
    yield from _plain(items, total, description)


def _plain(items: Iterable[T], total: int, description: str) -> Iterator[T]:
    started = last = time.monotonic()
    for done, item in enumerate(items):
        now = time.monotonic()
        if now - last >= PLAIN_INTERVAL_SECONDS:
            last = now
            sys.stderr.write(f"{description}: {done}/{total} ({now - started:.0f} s)\n")
        yield item
