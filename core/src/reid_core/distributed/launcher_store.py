"""The small store of texts by which the processes of a job find each other."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Protocol

import torch.distributed as dist

#: Seconds to connect; the store is there before a process is.
_TIMEOUT = timedelta(seconds=20)


class SharedStore(Protocol):
    """The calls of a torch store that do not wait, once the key is there."""

    def set(self, key: str, value: str, /) -> object:
        """Write a text."""
        ...

    def get(self, key: str, /) -> bytes:
        """Return a text."""
        ...

    def check(self, keys: list[str], /) -> bool:
        """Say whether all keys are there."""
        ...

    def add(self, key: str, amount: int, /) -> int:
        """Add to a number, 0 before; return the sum."""
        ...

    def compare_set(self, key: str, expected: str, desired: str, /) -> bytes:
        """Write a text if there is none and none is expected; return what is there now."""
        ...


def has_launcher() -> bool:
    """Say whether torchrun keeps the store, so that it outlives every process and each restart."""
    return os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"


def restarts() -> int:
    """Return how often torchrun has started this job anew."""
    text = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return int(text) if text.isdecimal() else 0


def prefixed(prefix: str, store: object) -> SharedStore:
    """Return a part of a torch store that has keys of its own.

    Args:
        prefix: Name of the part.
        store: The store.
    """
    part: SharedStore = dist.PrefixStore(  # type: ignore[attr-defined]
        f"reid_core/{prefix}",
        store,  # type: ignore[arg-type]
    )
    return part


def connect(prefix: str) -> SharedStore | None:
    """Connect to the store once more, for texts of our own.

    A connection of its own, because a call that waits blocks all others of the same connection.

    Args:
        prefix: Comes before each key.

    Returns:
        The store; None where the environment does not say where it is.

    Raises:
        torch.distributed.DistNetworkError: Nobody answers there.
    """
    host, port = os.environ.get("MASTER_ADDR"), os.environ.get("MASTER_PORT", "")
    if not host or not port.isdecimal():
        return None
    client = dist.TCPStore(  # type: ignore[attr-defined]
        host, int(port), is_master=False, wait_for_workers=False, timeout=_TIMEOUT
    )
    return prefixed(prefix, client)
