"""Which hooks a process has, of several that train together."""

from __future__ import annotations

from collections.abc import Sequence

from reid_core.distributed.processes import Processes
from reid_core.engine.hooks.hook_checks import is_observer


def hooks_of_process(
    hooks: Sequence[tuple[str | None, object]], processes: Processes
) -> list[tuple[str | None, object]]:
    """Return those that act in this process, in their order.

    What only watches or writes is done once, by the first process: an observer, and a hook whose
    class says ``first_process_only = True``.

    Args:
        hooks: As (id, hook).
        processes: This process and the others.
    """
    return [entry for entry in hooks if processes.is_first or not is_for_first(entry[1])]


def is_for_first(hook: object) -> bool:
    """Say whether a hook acts in the first process only."""
    return is_observer(hook) or getattr(hook, "first_process_only", False) is True
