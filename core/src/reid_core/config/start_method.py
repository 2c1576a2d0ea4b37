"""How worker processes are started, of the ways that this platform has."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator


def _require_available(method: str) -> str:
    # Imported here: few configs say anything about it.
    from multiprocessing import get_all_start_methods

    available = get_all_start_methods()
    if method not in available:
        raise ValueError(
            f"this platform has no start method {method!r}; expected {' or '.join(available)}, or "
            "null for Python's default"
        )
    return method


#: A start method of :mod:`multiprocessing` that this platform has.
StartMethod = Annotated[Literal["fork", "spawn", "forkserver"], AfterValidator(_require_available)]
