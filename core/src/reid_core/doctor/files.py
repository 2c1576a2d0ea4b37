"""Rows and files that do not go together: files that are not there, or are listed twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from reid_core.data.manifest import Manifest
from reid_core.data.stores import FolderStore
from reid_core.doctor.finding import Finding, Severity, counted, some
from reid_core.doctor.listing import Listings

_KEEP_ONE = "keep one row of each"
#: What is said of an image that a query and its own camera's gallery share, and what to do.
FILTERED = (
    "in query and gallery as the same camera took it",
    "nothing has to be done where the protocol leaves out the query's own camera, as market1501 "
    "does; with another one a query would find itself",
)

#: Paths that are made Python's strings at a time, which take five times their room.
_CHUNK = 2**16


def check_missing(
    manifest: Manifest, listings: Listings | None, *, severity: Severity = "error"
) -> Iterator[Finding]:
    """Find rows whose file is not there.

    Args:
        manifest: The rows.
        listings: The folders of its store; None where the images are no files.
        severity: How bad a missing file is.
    """
    if listings is None:
        return
    missing = sorted(set(_missing(manifest, listings)))
    if missing:
        root = manifest.images.locate("")
        yield Finding(
            "missing-files",
            severity,
            manifest.name,
            f"{counted(len(missing), 'file')} of {len(set(manifest.paths.tolist()))} are not "
            f"there, below {root or 'the working directory'}",
            "check root and the paths of the table; put the files back, or take their rows out",
            len(missing),
            some(_described(folder, name, listings) for folder, name in missing),
        )


def check_listed_twice(manifest: Manifest) -> Iterator[Finding]:
    """Find files, or boxes of files, that more than one row names."""
    paths = manifest.paths.tolist()
    if len(set(paths)) == len(paths):
        return
    groups: dict[tuple[str, bytes], list[int]] = {}
    boxes = manifest.columns.get("boxes")
    keys = [b""] * len(paths) if boxes is None else [box.tobytes() for box in boxes]
    for row, key in enumerate(zip(paths, keys, strict=True)):
        groups.setdefault(key, []).append(row)
    # Frames that show several are told apart by their boxes.
    twice = [rows for rows in groups.values() if len(rows) > 1]
    others = [rows for rows in twice if len(np.unique(manifest.pids[rows])) > 1]
    same = [rows for rows in twice if len(np.unique(manifest.pids[rows])) == 1]
    across = [rows for rows in same if len(np.unique(manifest.splits[rows])) > 1]
    within = [rows for rows in same if len(np.unique(manifest.splits[rows])) == 1]
    filtered = [rows for rows in across if is_filtered(manifest, rows)]
    across = [rows for rows in across if not is_filtered(manifest, rows)]
    warning: Severity = "warning"
    for code, severity, found, how, advice in (
        ("file-with-two-identities", warning, others, "under different identities", _KEEP_ONE),
        ("file-in-two-splits", warning, across, "in different splits", _KEEP_ONE),
        ("file-in-two-splits", "info", filtered, FILTERED[0], FILTERED[1]),
        ("file-listed-twice", warning, within, "more than once", _KEEP_ONE),
    ):
        if found:
            yield Finding(
                code,
                severity,
                manifest.name,
                f"{counted(len(found), 'image is', 'images are')} listed {how}",
                advice,
                len(found),
                some(describe(manifest, rows) for rows in found),
            )


def is_filtered(manifest: Manifest, rows: Sequence[int]) -> bool:
    """Say whether rows of query and gallery are of one identity and one camera.

    Some benchmarks list their queries in the gallery too. Protocols that search in other cameras
    leave them out.

    Args:
        manifest: The set.
        rows: Rows of one image.
    """
    at = list(rows)
    return (
        manifest.has_cameras
        and "train" not in manifest.splits[at].tolist()
        and len(set(manifest.pids[at].tolist())) == 1
        and len(set(manifest.camids[at].tolist())) == 1
    )


def listings_of(manifest: Manifest) -> Listings | None:
    """Return the folders of a set's files; None where its images are no files."""
    store = manifest.images
    return Listings(store.root) if isinstance(store, FolderStore) else None


def describe(manifest: Manifest, rows: list[int]) -> str:
    """Describe rows that go together: each with split and identity, its path once."""
    parts: dict[str, list[str]] = {}
    for row in rows[:4]:
        about = f"{manifest.splits[row]}, identity {manifest.pids[row]}"
        parts.setdefault(str(manifest.paths[row]), []).append(about)
    text = " = ".join(f"{path} ({'; '.join(about)})" for path, about in parts.items())
    return text + (f" and {len(rows) - 4} more" if len(rows) > 4 else "")


def _missing(manifest: Manifest, listings: Listings) -> Iterator[tuple[str, str]]:
    at, files = "", listings.of("").files
    for start in range(0, len(manifest), _CHUNK):
        for path in manifest.paths[start : start + _CHUNK].tolist():
            folder, _, name = path.rpartition("/")
            if folder != at:
                at, files = folder, listings.of(folder).files
            if name not in files:
                yield folder, name


def _described(folder: str, name: str, listings: Listings) -> str:
    path = f"{folder}/{name}" if folder else name
    content = listings.of(folder)
    if name in content.folders:
        return f"{path} (a folder)"
    if name in content.dead:
        return f"{path} (a link that leads nowhere)"
    folded = name.casefold()
    other = next((one for one in sorted(content.files) if one.casefold() == folded), None)
    return f"{path} (there is {other})" if other else path
