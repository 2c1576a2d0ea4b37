"""Messages about a folder or file that is not there: what is, and what was meant perhaps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from reid_core.data.manifest import TextArray
from reid_core.errors import DataError, nearest

#: How many names a message shows.
SHOWN = 3


def require_folder(folder: Path, *, what: str, advice: str) -> None:
    """Refuse a folder that is not there.

    Args:
        folder: The folder, after it was looked for under ``REID_DATASETS``.
        what: Who needs it, for the message.
        advice: What to do.

    Raises:
        DataError: There is no such folder; the message names the nearest one.
    """
    if not folder.is_dir():
        kind = "it is a file" if folder.is_file() else f"there is no folder {_searched(folder)}"
        subject = f"{folder}: " if folder.is_file() else ""
        raise DataError(f"{what}: {subject}{kind}{describe_nearest(folder)}; {advice}")


def require_file(file: Path, *, what: str, advice: str) -> None:
    """Refuse a file that is not there.

    Args:
        file: The file, after it was looked for under ``REID_DATASETS``.
        what: Who needs it, for the message.
        advice: What to do.

    Raises:
        DataError: There is no such file; the message names the nearest folder and its first names.
    """
    if file.is_dir():
        raise DataError(f"{what}: {file} is a folder, with {_names_in(file)}; {advice}")
    if not file.is_file():
        raise DataError(
            f"{what}: there is no file {_searched(file)}{describe_nearest(file)}; {advice}"
        )


def describe_nearest(path: Path) -> str:
    """Return " (the nearest …)" for a path that does not exist: the folder above it that does."""
    existing = next((one for one in path.absolute().parents if one.is_dir()), None)
    if existing is None or path.exists():
        return ""
    missing = path.absolute().relative_to(existing).parts[0]
    similar = nearest(missing, [one.name for one in existing.iterdir()])
    hint = f"; did you mean {existing / similar}?" if similar else ""
    return f" (the nearest that exists is {existing}, with {_names_in(existing)}{hint})"


def first_names(names: Iterable[str]) -> str:
    """Return the first few names of many, in their order, and how many more there are."""
    listed = list(names)
    more = f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
    return (", ".join(listed[:SHOWN]) or "nothing") + more


def require_some_images(
    root: Path, paths: Sequence[str] | TextArray, *, what: str, advice: str, places: int = 10
) -> None:
    """Refuse a root under which none of a few images is.

    Not every image is looked for: that would take minutes for a million of them.

    Args:
        root: The folder that paths are relative to.
        paths: Paths of images.
        what: Who needs them, for the message.
        advice: What to do.
        places: How many are looked for.

    Raises:
        DataError: Not one of them is a file.
    """
    step = max(1, len(paths) // places)
    tried = [str(path) for path in paths[::step][:places]]
    if tried and not any((root / path).is_file() for path in tried):
        raise DataError(
            f"{what}: none of {len(tried)} images that were looked for in {root} is there, for "
            f"example {first_names(tried[:1])}{describe_nearest(root / tried[0])}; {advice}"
        )


def _names_in(folder: Path) -> str:
    names = sorted(one.name for one in folder.iterdir() if not one.name.startswith("."))
    return first_names(names) + " in it"


def _searched(path: Path) -> str:
    return str(path) if path.is_absolute() else f"{path}, nor one under REID_DATASETS"
