"""Which hook raised an exception, and which distribution it comes from."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from types import CodeType
from typing import cast

from reid_core.engine.implementations import implementations
from reid_core.errors import ReidError
from reid_core.plugins.index import installed
from reid_core.plugins.local_files import plugin_file_of
from reid_core.plugins.metadata import CORE


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
    if culprit.id not in str(error):
        error.add_note(f"raised by {culprit}")


def origin_of(instance: object) -> str:
    """Name the distribution and version that a hook comes from, or its module.

    Args:
        instance: A hook, or its class.
    """
    kind = instance if isinstance(instance, type) else type(instance)
    file = plugin_file_of(kind)
    if file is not None:
        return f"plugin file {file.path}"
    refs = [ref for ref in installed().refs if ref.status != "shadowed"]
    exact = f"{kind.__module__}:{kind.__qualname__}"
    package = kind.__module__.partition(".")[0]
    for ref in refs:
        if ref.value == exact:
            return f"{ref.dist} {ref.version}"
    for ref in refs:
        if ref.value.partition(":")[0].partition(".")[0] == package:
            return f"{ref.dist} {ref.version}"
    return f"module {kind.__module__}"


def _code_of(function: object) -> CodeType:
    return cast("CodeType", inspect.unwrap(function).__code__)  # type: ignore[arg-type]
