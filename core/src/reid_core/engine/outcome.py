"""How a run ended."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import Literal

from reid_core.errors import ReidError

Status = Literal["completed", "stopped", "failed", "interrupted"]


@dataclass(frozen=True)
class Outcome:
    """How a run ended, as ``after_train`` is told.

    Args:
        status: ``completed`` all its steps, ``stopped`` early because a hook asked for it,
            ``failed`` with an exception, or ``interrupted`` by a signal or Ctrl-C.
        reason: The hook's reason, or the exception's message.
        exception: What ended the run, if something did.
    """

    status: Status
    reason: str = ""
    exception: BaseException | None = None


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
