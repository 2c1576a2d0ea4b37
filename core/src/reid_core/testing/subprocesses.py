"""Other processes that see the same installed packages as this one."""

from __future__ import annotations

import os
from collections.abc import Iterable


def child_environment(path: Iterable[str], **changes: str) -> dict[str, str]:
    """Return the environment of a child that finds modules where this process does.

    Args:
        path: The ``sys.path`` to hand on; a test may have added folders to it.
        **changes: Further variables.
    """
    # An empty entry of PYTHONPATH would be the child's working directory, as it is ours.
    folders = [folder or os.getcwd() for folder in path]  # noqa: PTH109 — text is what is needed
    return {**os.environ, "PYTHONPATH": os.pathsep.join(folders), **changes}
