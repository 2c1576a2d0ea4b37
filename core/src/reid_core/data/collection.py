"""Python's collector of cyclic garbage, which is in the way where millions of objects are made."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collection_paused() -> Iterator[None]:
    """Hold the collector back while a table is read or looked at.

    It looks at all objects of the process again and again, those of torch too, for cycles that
    rows of text cannot form: reading a million rows then takes twice the time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
