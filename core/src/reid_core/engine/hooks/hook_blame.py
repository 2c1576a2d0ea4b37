"""Which hook raised an exception, and which distribution it comes from."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from types import CodeType
from typing import cast

from reid_core.engine.hooks.implementations import implementations
from reid_core.errors import ReidError
from reid_core.plugins.metadata import CORE
from reid_core.plugins.origin import origin_of


@dataclass(frozen=True)
class Culprit:
    """The hook that an exception came out of.

    Args:
        id: Its id.
        hook: The hook that was being called, such as ``after_step``.
        origin: Where it comes from, such as ``reid-plugin-hooks 0.1.0``.
    """

    id: str
    hook: str
    origin: str

    def __str__(self) -> str:
        return f"hook {self.id!r} ({self.origin}) in {self.hook}"


def find_culprit(error: BaseException, hooks: Sequence[tuple[str, object]]) -> Culprit | None:
    """Return the hook that raised an exception; the innermost, where one called another.

    It is read from the traceback, so that calls cost nothing as long as all goes well.

    Args:
        error: The exception, caught.
        hooks: The hooks of the run, as (id, hook).
    """
    codes = {
        _code_of(implementation.function): (id_, hook, implementation.hook)
        for id_, hook in hooks
        for implementation in implementations(hook)
    }
    found = None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_code in codes:
            id_, hook, name = codes[frame.f_code]
            # Two instances of one class share the code; the frame knows whose it was.
            itself = frame.f_locals.get(next(iter(frame.f_code.co_varnames), ""))
            id_ = next((other for other, h in hooks if h is itself), id_)
            found = Culprit(id_, name, origin_of(itself if itself is not None else hook))
    return found


def note_culprit(error: BaseException, culprit: Culprit) -> None:
    """Add to an exception which hook it came out of.

    A mistake of the user that one of the core's own hooks tells needs no such note.
    """
    if isinstance(error, ReidError) and culprit.origin.startswith(f"{CORE} "):
        return
    if f"hook {culprit.id!r}" not in str(error):
        error.add_note(f"raised by {culprit}")


def _code_of(function: object) -> CodeType:
    return cast("CodeType", inspect.unwrap(function).__code__)  # type: ignore[arg-type]
