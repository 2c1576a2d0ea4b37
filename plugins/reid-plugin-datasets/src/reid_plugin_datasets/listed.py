"""Whether the images that a text file lists are there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reid_core.errors import DataError

#: Images looked for at first; asking a network disk for all of a large set takes minutes.
_SAMPLE = 200


def require_images(
    folder: Path, paths: Sequence[str], *, dataset: str, source: str
) -> tuple[str, ...]:
    """Look for images that a list names: 200 spread over it, and all where one of them is missing.

    Args:
        folder: The folder that ``paths`` are relative to.
        paths: (N,) paths with forward slashes; one may stand there several times.
        dataset: The component's name, for messages.
        source: The list's name, for messages.

    Returns:
        A note on how many images are missing; none where nothing seems to be.

    Raises:
        DataError: Not one of the images looked for is there.
    """
    paths = list(dict.fromkeys(paths))  # a photograph may show several
    if not paths:
        return ()
    sample = paths[:: -(-len(paths) // _SAMPLE)]
    missing = [path for path in sample if not (folder / path).is_file()]
    if len(missing) == len(sample):
        raise DataError(
            f"data set {dataset}: {source} names {', '.join(missing[:3])}, and there is no such "
            f"file in {folder}; {_nearest(folder / missing[0])}; put the images where {source} "
            "says"
        )
    if not missing:
        return ()
    missing = [path for path in paths if not (folder / path).is_file()]
    return (
        f"{len(missing)} of the {len(paths)} images of {source} are missing, for example "
        f"{missing[0]}; 'reid-data check' lists them",
    )


def _nearest(path: Path) -> str:
    parent = next(parent for parent in path.parents if parent.is_dir())
    names = sorted(entry.name for entry in parent.iterdir() if not entry.name.startswith("."))
    return f"the nearest folder that exists is {parent}, which holds {_some(names)}"


def _some(names: list[str]) -> str:
    if not names:
        return "nothing"
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
