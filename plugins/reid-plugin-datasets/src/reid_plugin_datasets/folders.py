"""Where a benchmark lies on the disk, and which images are in its folders."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from reid_core.errors import DataError, did_you_mean
from reid_core.paths import resolve_root

#: Suffixes of the images of all benchmarks here, in lower case.
SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".webp"})

#: How many names a message shows at most.
_SHOWN = 8


@dataclass(frozen=True)
class Matches:
    """The images of a folder, by whether their names fit.

    Args:
        found: Path and match of each image whose name fits, sorted by path.
        misnamed: Paths of the images whose names do not fit, sorted.
        stray: Number of other files and folders, hidden ones among them.
        place: The folder that was looked into.
        example: A name that fits.
        folders: Names of the folders in ``place``, sorted.
    """

    found: list[tuple[str, re.Match[str]]]
    misnamed: list[str]
    stray: int
    place: Path
    example: str
    folders: list[str]


def find_folder(
    root: str | Path, *, dataset: str, nested: Sequence[str], expected: Sequence[str]
) -> Path:
    """Find the folder that holds a benchmark.

    Args:
        root: What the config says; a relative path is also looked for under ``REID_DATASETS``.
        dataset: The component's name, for messages.
        nested: Folders that the benchmark's archive unpacks to, which ``root`` may hold.
        expected: Files or folders that it must hold.

    Returns:
        The first of ``root`` and ``root``/``nested`` that holds all that is expected.

    Raises:
        DataError: None does; the message says which came nearest, what it lacks and holds, and
            whether the folder above or one below holds all.
    """
    base = resolve_root(root)
    candidates = [base, *(base / name for name in nested)]
    for candidate in candidates:
        if _lacking(candidate, expected) == []:
            return candidate
    wanted = f"set root to the folder that holds {', '.join(expected)}"
    if not base.is_dir():
        raise DataError(f"data set {dataset}: {_not_there(base)}; {wanted}")
    nearest = min(candidates, key=lambda candidate: len(_lacking(candidate, expected)))
    raise DataError(
        f"data set {dataset}: {nearest} lacks {', '.join(_lacking(nearest, expected))}; it holds "
        f"{_some(path.name for path in nearest.iterdir())}; {_elsewhere(base, nested, expected)}"
        f"{wanted}"
    )


def images_in(folder: Path) -> list[str]:
    """Return the names of the images in a folder, sorted.

    Hidden files, and folders that are named like an image, are none.
    """
    with os.scandir(folder) as entries:
        return sorted(entry.name for entry in entries if _is_image(entry) and not entry.is_dir())


def folders_in(folder: Path) -> list[str]:
    """Return the names of the folders in a folder, sorted, but for hidden ones."""
    with os.scandir(folder) as entries:
        return sorted(
            entry.name for entry in entries if not entry.name.startswith(".") and entry.is_dir()
        )


def matching(
    folder: Path,
    pattern: re.Pattern[str],
    *,
    dataset: str,
    example: str,
    inside: str = "",
    recursive: bool = False,
    required: bool = False,
) -> Matches:
    """List the images of a folder whose names fit a pattern.

    Args:
        folder: Where the paths that are returned start.
        pattern: Is matched with the beginning of the path below ``folder``/``inside``: with the
            file's name, or with ``identity/name.jpg`` in the folders of a recursive search.
        dataset: The component's name, for messages.
        example: A path that fits, for messages.
        inside: The folder below ``folder`` to look into.
        recursive: Whether folders in it are searched, too; other folders are counted as stray.
        required: Whether it is an error that no name fits.

    Returns:
        The images, sorted; paths relative to ``folder``, with forward slashes. Hidden files and
        folders, and folders that are named like an image, are ignored.

    Raises:
        DataError: There is no such folder, or no name fits and ``required`` is set.
    """
    place = folder / inside
    if not place.is_dir():
        raise DataError(f"data set {dataset}: {_not_there(place)}; expected images like {example}")
    names: list[str] = []
    stray = sum(1 for _ in _walk(place, "", recursive, names, (place.resolve(),)))
    prefix = f"{inside.strip('/')}/" if inside else ""
    found: list[tuple[str, re.Match[str]]] = []
    misnamed: list[str] = []
    for name in sorted(names):
        match = pattern.match(name)
        if match is None:
            misnamed.append(prefix + name)
        else:
            found.append((prefix + name, match))
    matches = Matches(found, misnamed, stray, place, example, folders_in(place))
    if required and not found:
        raise DataError(nothing_usable(dataset, [matches]))
    return matches


def nothing_usable(dataset: str, matches: Sequence[Matches]) -> str:
    """Say that no image fits: where, which names were seen, and what was expected.

    Args:
        dataset: The component's name.
        matches: What was found in the folders that were looked into.
    """
    misnamed = [name for one in matches for name in one.misnamed]
    folders = [name for one in matches for name in one.folders]
    if misnamed:
        seen = f"names that do not fit: {', '.join(misnamed[:3])}"
    elif folders:
        seen = f"found folders, {_some(folders)}, but no image that is read"
    else:
        seen = "found no image"
    places = ", ".join(dict.fromkeys(str(one.place) for one in matches))
    examples = " or ".join(dict.fromkeys(one.example for one in matches))
    return (
        f"data set {dataset}: no usable image{f' in {places}' if places else ''}; {seen}"
        f"{f'; expected names like {examples}' if examples else ''}, with a suffix of "
        f"{', '.join(sorted(SUFFIXES))}"
    )


def _walk(
    place: Path, below: str, recursive: bool, images: list[str], above: tuple[Path, ...]
) -> Iterator[str]:
    """Append the images to a list; yield all that is neither an image nor searched.

    ``above`` holds the true paths of the folder and those above it, for links in a circle.
    """
    with os.scandir(place / below) as entries:  # knows what is a folder without asking the disk
        for entry in entries:
            path = f"{below}/{entry.name}" if below else entry.name
            is_folder = entry.is_dir()
            if not is_folder and _is_image(entry):
                images.append(path)
                continue
            if is_folder and recursive and not _is_hidden_or_image(entry):
                true = Path(entry.path).resolve() if entry.is_symlink() else above[-1] / entry.name
                if not any(one.is_relative_to(true) for one in above):
                    yield from _walk(place, path, recursive, images, (*above, true))
                    continue
            yield path


def _is_image(entry: os.DirEntry[str]) -> bool:
    name = entry.name
    # Finder leaves files such as ._0001.jpg behind.
    return not name.startswith(".") and os.path.splitext(name)[1].lower() in SUFFIXES  # noqa: PTH122 — 100 000 times


def _is_hidden_or_image(entry: os.DirEntry[str]) -> bool:
    return entry.name.startswith(".") or _is_image(entry)


def _lacking(folder: Path, expected: Sequence[str]) -> list[str]:
    return [name for name in expected if not (folder / name).exists()]


def _not_there(folder: Path) -> str:
    """Say that there is no such folder, and what is nearest to it."""
    place = "" if folder.is_absolute() else ", nor one under REID_DATASETS"
    parent = next((path for path in folder.parents if path.is_dir()), Path())
    missing = folder.relative_to(parent).parts[0] if folder.is_relative_to(parent) else folder.name
    names = sorted(path.name for path in parent.iterdir() if not path.name.startswith("."))
    return (
        f"there is no folder {folder}{place} (the nearest that exists is {parent.resolve()}, which "
        f"holds {_some(names)}){did_you_mean(missing, names)}"
    )


def _elsewhere(base: Path, nested: Sequence[str], expected: Sequence[str]) -> str:
    """Name the folder above, beside or below that holds all that is expected, if there is one."""
    above = base.resolve().parent
    near = [
        above,
        *(above / name for name in nested),
        *(base / name for name in folders_in(base)),
    ]
    holder = next((folder for folder in near if _lacking(folder, expected) == []), None)
    return "" if holder is None else f"{holder} holds them; "


def _some(names: Iterable[str]) -> str:
    """Return the first names, sorted, and how many more there are."""
    listed = sorted(names)
    more = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    return ", ".join(listed[:_SHOWN]) + more if listed else "nothing"
