"""Where things are kept on this machine: the cache folder and the data set root."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from reid_core.errors import UsageError


def cache_dir() -> Path:
    """Return the user's cache folder for this project; it need not exist yet.

    ``REID_CACHE`` wins; otherwise the place the operating system keeps caches in.
    """
    override = os.environ.get("REID_CACHE")
    if override:
        return Path(override).expanduser()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or "~/AppData/Local")
    elif sys.platform == "darwin":
        base = Path("~/Library/Caches")
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    return base.expanduser() / "reid-core"


def resolve_root(root: str | Path) -> Path:
    """Resolve a data set root as written in a config.

    An absolute path, or one that exists from the working directory, is taken as it is. Otherwise
    it is looked for under ``REID_DATASETS`` (or FastReID's ``FASTREID_DATASETS``).

    Args:
        root: A path; ``~`` is expanded.

    Returns:
        The path to use; it may not exist, which the reader reports.
    """
    path = Path(root).expanduser()
    if path.is_absolute() or path.exists():
        return path
    for variable in ("REID_DATASETS", "FASTREID_DATASETS"):
        base = os.environ.get(variable)
        if base and (Path(base).expanduser() / path).exists():
            return Path(base).expanduser() / path
    return path


def require_writable(folder: Path, *, option: str = "output") -> None:
    """Refuse a folder that nothing could be written into, before any work is done for it.

    Args:
        folder: It need not exist yet.
        option: What chose it, for the message.

    Raises:
        UsageError: It is a file or below one, or there is no permission.
    """
    if folder.is_file():
        raise UsageError(f"{option} {folder} is a file; expected a folder or a new name")
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not there.is_dir():
        raise UsageError(
            f"{option} {folder} cannot be made: {there} is a file; choose another folder by "
            "--output"
        )
    if not os.access(there, os.W_OK | os.X_OK):
        raise UsageError(
            f"{option} {folder} cannot be written: there is no permission to write into {there}; "
            "choose another folder by --output"
        )
