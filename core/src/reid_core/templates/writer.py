"""A rendered project onto the disk: whole, or not at all."""

from __future__ import annotations

import tempfile
from pathlib import Path

from reid_core.errors import UsageError
from reid_core.templates.project import Project


def write_project(project: Project, parent: Path) -> Path:
    """Write a project into a folder of its own.

    It is written beside its place and moved there when it is whole, so that a failure leaves
    nothing behind.

    Args:
        project: What to write.
        parent: The folder to make the project's folder in; made if missing.

    Returns:
        The project's folder, named like the distribution.

    Raises:
        UsageError: There is something in that place, or it cannot be written.
    """
    folder = parent / project.names.dist
    try:
        require_unused(folder)
        parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{project.names.dist}.", dir=parent) as name:
            # One level down: the temporary folder itself is for its owner's eyes only.
            aside = Path(name) / project.names.dist
            for path, text in project.files.items():
                file = aside / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8", newline="\n")
            if folder.is_dir():
                folder.rmdir()
            aside.rename(folder)
    except OSError as error:
        raise UsageError(
            f"cannot write {folder}: {error.strerror or error}; name another folder by --dir"
        ) from error
    return folder


def require_unused(folder: Path) -> None:
    """Refuse a place where something is already.

    Raises:
        UsageError: It is no folder, or one that is not empty.
    """
    if folder.is_dir():
        first = next((path.name for path in sorted(folder.iterdir())), None)
        if first is None:
            return
        found = f"is not empty (it holds {first})"
    elif folder.exists() or folder.is_symlink():
        found = "is no folder"
    else:
        return
    raise UsageError(
        f"{folder} {found}, and nothing is overwritten; choose another NAME, or another --dir"
    )
