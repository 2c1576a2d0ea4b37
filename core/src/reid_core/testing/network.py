"""A network that is not there."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import NoReturn

#: Hosts of this machine, where processes of one test may talk to each other.
_HERE = ("localhost", "127.", "::1")


class NetworkBlockedError(OSError):
    """A test that may not use the network asked for it."""


def refuse(host: object) -> NoReturn:
    """Refuse a host.

    Raises:
        NetworkBlockedError: Always.
    """
    raise NetworkBlockedError(
        f"this test runs without a network, and something asked for {host}; give it a file on "
        "the disk, or let the error that this raises be told to the user"
    )


def is_here(host: object) -> bool:
    """Say whether a host is this machine itself; no name at all means that too."""
    return host is None or host == "" or str(host).startswith(_HERE)


def guarded_connect(
    connect: Callable[[socket.socket, object], object],
) -> Callable[[socket.socket, object], object]:
    """Return a ``socket.connect`` that reaches this machine only."""

    def call(self: socket.socket, address: object) -> object:
        # The address of a local socket is a path, not a tuple.
        if isinstance(address, tuple) and not is_here(address[0]):
            refuse(address[0])
        return connect(self, address)

    return call


def guarded_lookup(lookup: Callable[..., object]) -> Callable[..., object]:
    """Return a ``socket.getaddrinfo`` that knows this machine only."""

    def call(host: object, *arguments: object, **keywords: object) -> object:
        if not is_here(host):
            refuse(host)
        return lookup(host, *arguments, **keywords)

    return call
