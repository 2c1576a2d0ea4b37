"""Where a benchmark lies on the disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reid_core.errors import DataError
from reid_core.paths import resolve_root

#: Suffixes of the images of all benchmarks here.
SUFFIXES = {".jpg", ".jpeg", ".png"}


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
        DataError: None does; the message says which came nearest and what it lacks.
    """
    base = resolve_root(root)
    candidates = [base, *(base / name for name in nested)]
    for candidate in candidates:
        if all((candidate / name).exists() for name in expected):
            return candidate
    if not base.is_dir():
        place = "" if base.is_absolute() else ", nor one under REID_DATASETS"
        parent = next((p for p in base.parents if p.is_dir()), Path())
        raise DataError(
            f"data set {dataset}: there is no folder {base}{place} (the nearest that exists is "
            f"{parent.resolve()}); set root to the folder that holds {', '.join(expected)}"
        )
    nearest = max(candidates, key=lambda c: sum((c / name).exists() for name in expected))
    lacking = [name for name in expected if not (nearest / name).exists()]
    found = sorted(path.name for path in nearest.iterdir())[:8]
    raise DataError(
        f"data set {dataset}: {nearest} lacks {', '.join(lacking)}; it holds "
        f"{', '.join(found) if found else 'nothing'}; set root to the folder that holds "
        f"{', '.join(expected)}"
    )


def images_in(folder: Path) -> list[str]:
    """Return the names of the images in a folder, sorted; hidden files are none."""
    return sorted(
        path.name
        for path in folder.iterdir()
        if path.suffix.lower() in SUFFIXES and not path.name.startswith(".")
    )
