"""The error tree: every mistake a user can make ends in a :class:`ReidError`.

The command line prints a :class:`ReidError` without a traceback and leaves with its
``exit_code``; any other exception is a defect of ours or of a plugin and keeps its traceback.
"""

from __future__ import annotations

import difflib
import signal
from collections.abc import Iterable
from typing import ClassVar


class ReidError(Exception):
    """A failure that the user can mend: the message says what, got, expected and how to fix it."""

    #: Exit code of the command line: 1 is "the run failed".
    exit_code: ClassVar[int] = 1


class UsageError(ReidError):
    """A command was called in a way that cannot work."""

    exit_code = 2


class ConfigError(ReidError):
    """A configuration is wrong; the message lists every problem found, one a line."""

    exit_code = 2


class DataError(ReidError):
    """A data set is missing, unreadable, or cannot serve the run that was asked for."""

    exit_code = 3


class PluginError(ReidError):
    """A component is missing, broken, ambiguous, or too new for this core."""

    exit_code = 4


class CheckpointError(ReidError):
    """A checkpoint or weights file is missing, damaged, or does not fit the model."""


class TrainingError(ReidError):
    """Training cannot go on, for example because the loss is not finite."""


class Interrupted(ReidError):  # noqa: N818 — an order to leave, not an error
    """The run was asked to leave by a signal; it does so between two steps.

    Args:
        signum: The signal.
    """

    def __init__(self, signum: int) -> None:
        self.signum = signum
        super().__init__(f"interrupted by {signal.Signals(signum).name}")

    def __reduce__(self) -> tuple[type[Interrupted], tuple[int], dict[str, object]]:
        # By itself an exception is built anew from its message.
        return type(self), (self.signum,), self.__dict__

    @property
    def status_code(self) -> int:
        """Exit code by the shell's convention: 130 for SIGINT, 143 for SIGTERM."""
        return 128 + self.signum


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """Return the known spelling nearest to a name, or None; upper and lower case count the same.

    Args:
        name: What was typed.
        candidates: The names that would have worked.
    """
    by_folded = {candidate.casefold(): candidate for candidate in candidates}
    near = difflib.get_close_matches(name.casefold(), list(by_folded), n=1, cutoff=0.6)
    return by_folded[near[0]] if near else None


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Name the nearest known spelling.

    Args:
        name: What was typed.
        candidates: The names that would have worked.

    Returns:
        ``"; did you mean X?"``, or an empty string when nothing is near.
    """
    near = nearest(name, candidates)
    return f"; did you mean {near}?" if near else ""
