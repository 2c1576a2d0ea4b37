"""Errors that a message tells whole: a traceback would only hide it."""

from __future__ import annotations

import errno

from reid_core.errors import ReidError

#: What a disk says no with.
_OF_DISKS = {
    getattr(errno, name)
    for name in ("ENOSPC", "EDQUOT", "EROFS", "EIO", "EFBIG")
    if hasattr(errno, name)
}


def plain_errors(error: BaseException) -> list[Exception]:
    """Return the mistakes and the faults of disks that an error is made of.

    Args:
        error: One error, or a group of them.

    Returns:
        Them, each once and in their order; none where any of them is something else, which is a
        defect and needs its traceback.
    """
    if isinstance(error, BaseExceptionGroup):
        parts = [plain_errors(one) for one in error.exceptions]
        return [one for part in parts for one in part] if all(parts) else []
    if isinstance(error, ReidError) or (isinstance(error, OSError) and error.errno in _OF_DISKS):
        return [error]
    return []


def told(error: BaseException) -> str:
    """Return an error as one text: a plain one by its message, any other one by its kind too."""
    return "; ".join(str(one) for one in plain_errors(error)) or f"{type(error).__name__}: {error}"
