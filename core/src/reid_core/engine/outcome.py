"""How a run ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
