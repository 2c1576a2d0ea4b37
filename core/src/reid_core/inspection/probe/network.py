"""Says whether a component reaches for the network, and does not let it."""

from __future__ import annotations

import sys

from reid_core.inspection.finding import Finding


class NetworkWatch:
    """Refuses every look-up of a host and every connection of this process, and notes them.

    Source: the audit events of Python's socket module.
    """

    def __init__(self) -> None:
        self.attempts: list[str] = []
        sys.addaudithook(self._watch)

    def _watch(self, event: str, arguments: tuple[object, ...]) -> None:
        if event == "socket.getaddrinfo":
            self._refuse(str(arguments[0]))
        elif event == "socket.connect" and isinstance(arguments[1], tuple):
            # The address of a local socket is no tuple; those are used between processes.
            self._refuse(str(arguments[1][0]))

    def _refuse(self, host: str) -> None:
        self.attempts.append(host)
        raise OSError(f"no network while components are checked (asked for {host})")

    def findings_of_import(self) -> tuple[Finding, ...]:
        """Return what is wrong with an import that asked for the network."""
        return tuple(
            Finding(
                "fault",
                "network",
                f"importing it asks for {host}; fetch nothing at import, but where it is needed",
            )
            for host in dict.fromkeys(self.attempts)
        )
