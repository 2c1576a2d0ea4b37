"""Files that lie among the images and are not read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

import numpy as np

from reid_core.data.manifest import Manifest
from reid_core.doctor.counts import is_as_published
from reid_core.doctor.finding import Finding, counted, some
from reid_core.doctor.listing import Listings, by_folder

#: Suffixes of images, whether or not a reader takes them.
IMAGE_SUFFIXES = {
    ".jpg",
    ".jpeg",
    ".jpe",
    ".jfif",
    ".png",
    ".bmp",
    ".webp",
    ".gif",
    ".tif",
    ".tiff",
    ".heic",
    ".avif",
    ".jp2",
}
#: What may list the images, beside them in the root.
_TABLES = {".csv", ".tsv", ".parquet", ".json"}
#: What Explorer leaves behind; Finder's files begin with a dot.
_SYSTEM = {"thumbs.db", "desktop.ini", "__macosx"}
#: Junk and distractors, as Market-1501 names them.
_NOBODY = re.compile(r"(-1|0+)_?c[0-9]")
_NUMBER = re.compile("[0-9]+")


@dataclass
class _Strays:
    images: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    nobody: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    system: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)


def check_strays(manifest: Manifest, listings: Listings | None) -> Iterator[Finding]:
    """Find what lies in the folders of a set's images and is no image of it.

    Args:
        manifest: The rows.
        listings: The folders of its store; None where the images are no files.
    """
    if listings is None or not len(manifest):
        return
    # Frames that show nobody have no box, and lists of a benchmark name a part of its images.
    reads_a_part = "boxes" in manifest.columns or is_as_published(manifest)
    strays = _Strays()
    known = {folder: set(names) for folder, names in by_folder(manifest.paths.tolist()).items()}
    splits = _splits(manifest)
    for folder in sorted(known):
        _look(folder, known, listings, splits[folder], strays)
    _look_for_empty(known, listings, strays)
    if reads_a_part:
        strays.images.clear()
        strays.left_out.clear()
    elif not manifest.notes and not manifest.expected:
        # A reader that leaves images out by design says so; rows that a table lacks may be lost.
        strays.images = sorted(strays.images + strays.left_out)
        strays.left_out.clear()
    yield from _findings(manifest, strays)


def _look(
    folder: str,
    known: dict[str, set[str]],
    listings: Listings,
    splits: set[str],
    strays: _Strays,
) -> None:
    content = listings.of(folder)
    read = known.get(folder, set())
    others = sorted((content.files | content.dead) - read)
    shapes = {_shape(name) for name in read} if others else set()
    for name in others:
        _sort_in(name, _below(folder, name), splits, shapes, strays)
    for name in sorted(content.folders):
        path = _below(folder, name)
        if name.startswith(".") or name.casefold() in _SYSTEM:
            strays.system.append(f"{path}/")
        elif _suffix(name) in IMAGE_SUFFIXES:
            strays.others.append(f"{path}/ (a folder)")
        elif path not in known and folder:
            # Below the root itself everything may lie: other splits, other versions, documents.
            inner = listings.of(path)
            if not inner.files and not inner.folders and not inner.dead:
                strays.empty.append(f"{path}/")
            _look(path, known, listings, splits, strays)


def _sort_in(name: str, path: str, splits: set[str], shapes: set[str], strays: _Strays) -> None:
    if name.startswith(".") or name.casefold() in _SYSTEM:
        strays.system.append(path)
    elif _suffix(name) not in IMAGE_SUFFIXES:
        # A table that lists the images lies beside them, and so do those that were made of it.
        if path != name or _suffix(name) not in _TABLES:
            strays.others.append(path)
    elif _NOBODY.match(name):
        # In a gallery that is what they are for, or what the reader leaves out of it.
        if "gallery" not in splits:
            strays.nobody.append(path)
    elif _shape(name) in shapes:
        strays.left_out.append(path)
    else:
        strays.images.append(path)


def _look_for_empty(known: dict[str, set[str]], listings: Listings, strays: _Strays) -> None:
    """Find empty folders beside those of the images: an identity whose images are lost."""
    for parent in sorted({folder.rpartition("/")[0] for folder in known if folder}):
        for name in sorted(listings.of(parent).folders):
            path = _below(parent, name)
            content = listings.of(path)
            is_empty = not content.files and not content.folders and not content.dead
            if is_empty and not name.startswith(".") and f"{path}/" not in strays.empty:
                strays.empty.append(f"{path}/")


def _findings(manifest: Manifest, strays: _Strays) -> Iterator[Finding]:
    few = len(strays.images) < len(manifest)
    for code, severity, found, what, advice in (
        (
            "images-not-read",
            "warning" if few else "info",
            strays.images,
            "lie among the others and are not read",
            "give them a name that the reader knows, or a row in the table; or move them away",
        ),
        (
            "images-not-read",
            "info",
            strays.left_out,
            "are named like the others and are left out",
            "nothing has to be done where the set or its protocol is made so, or the table names a "
            "part of the images",
        ),
        (
            "junk-not-read",
            "warning",
            strays.nobody,
            "of identity -1 or 0 lie in training or query and are not read",
            "junk and distractors belong into the gallery; move them there, or away",
        ),
        (
            "stray-files",
            "warning",
            strays.others,
            "among the images are none",
            "move them away, so that nobody takes them for lost images",
        ),
        (
            "empty-folders",
            "warning",
            strays.empty,
            "beside the images are empty",
            "check that no images were lost; remove the folders that are not needed",
        ),
        (
            "system-files",
            "info",
            strays.system,
            "of the operating system lie among the images; they are ignored",
            "nothing has to be done",
        ),
    ):
        if found:
            noun = {"images-not-read": "image", "empty-folders": "folder"}.get(code, "file")
            noun = "image" if code == "junk-not-read" else noun
            yield Finding(
                code,
                "warning" if severity == "warning" else "info",
                manifest.name,
                f"{counted(len(found), noun)} {what}",
                advice,
                len(found),
                some(found),
            )


def _splits(manifest: Manifest) -> dict[str, set[str]]:
    """Return for each folder the splits of its rows."""
    splits: dict[str, set[str]] = {}
    for split in np.unique(manifest.splits).tolist():
        for folder in by_folder(manifest.paths[manifest.splits == split].tolist()):
            splits.setdefault(folder, set()).add(split)
    return splits


def _below(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _shape(name: str) -> str:
    """Return a name with each number as one digit: what a reader of names goes by."""
    return _NUMBER.sub("0", name)


def _suffix(name: str) -> str:
    return PurePosixPath(name).suffix.lower()
