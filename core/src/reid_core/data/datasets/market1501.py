"""Market-1501 and every data set in its layout."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from reid_core.data.attribute_table import read_attributes
from reid_core.data.manifest import Count, Manifest, Split, text_column
from reid_core.errors import DataError
from reid_core.paths import resolve_root

#: Folder names of the three splits.
FOLDERS: dict[Split, str] = {
    "train": "bounding_box_train",
    "query": "query",
    "gallery": "bounding_box_test",
}
SUFFIXES = {".jpg", ".jpeg", ".png", ".bmp", ".webp"}
#: Folder that the official archive unpacks to, and that other toolboxes nest the data in.
_NESTED = ("Market-1501-v15.09.15", "market1501", "market1501/Market-1501-v15.09.15")

#: Folder of the 500,000 distractors that were published later.
_MORE_DISTRACTORS = "images"
_NAME = re.compile(r"(-1|[0-9]+)_c([0-9]+)")
_EXPECTED = {
    "train": Count(12936, 751),
    "query": Count(3368, 750),
    # 750 people, and the distractors, which count as one identity.
    "gallery": Count(15913, 751),
}


def market1501(
    root: str | Path,
    title: str = "market1501",
    attributes: str | Path | None = None,
    distractors_500k: bool = False,
) -> Manifest:
    """Read a data set in Market-1501's layout.

    A file is named ``0002_c1s1_000451_03.jpg``: identity 2, camera 1. Identity -1 is junk (part of
    a person) and dropped; identity 0 is a distractor, kept in the gallery and dropped elsewhere.
    Other files, hidden ones and folders are ignored; how many, and how many images have no such
    name, is noted.

    Args:
        root: The folder with ``bounding_box_train``, ``query`` and ``bounding_box_test``, or the
            one above it. A relative path is also looked for under ``REID_DATASETS``.
        title: What the data is called in results; give your own data a name of its own, so that its
            figures are not taken for those of the benchmark.
        attributes: A CSV file with a column ``pid`` and a column of 0 and 1 for each attribute of
            an identity; a relative path is looked for in the data set's folder too.
        distractors_500k: Whether the gallery gets the distractors in the folder ``images`` too;
            whatever identity their names say, they stand for nobody; junk is dropped there too.

    Returns:
        The manifest, in the order train, query, gallery, files sorted; cameras as in the names.

    Raises:
        DataError: The folders are not there, no file in them is named like that, images lie in a
            folder for each identity, or the table of attributes cannot be used.

    Source: Zheng et al., Scalable Person Re-identification: A Benchmark, ICCV 2015.
    """
    folder = _find(resolve_root(root))
    parts = {inside: _scan(folder, inside, split) for split, inside in FOLDERS.items()}
    if distractors_500k:
        parts[_MORE_DISTRACTORS] = _scan_distractors(folder)
    rows = [row for part in parts.values() for row in part.rows]
    if not rows:
        raise DataError(_no_images(folder, parts))
    manifest = Manifest(
        name=title,
        root=folder,
        paths=text_column(row.path for row in rows),
        pids=np.array([row.pid for row in rows], dtype=np.int64),
        camids=np.array([row.camid for row in rows], dtype=np.int64),
        splits=np.array([row.split for row in rows]),
        notes=_notes(parts),
        distractors=(0,),
        expected=_expected(title, distractors_500k),
    )
    return manifest if attributes is None else _with_attributes(manifest, Path(attributes))


def _with_attributes(manifest: Manifest, path: Path) -> Manifest:
    beside = manifest.root / path
    values, names = read_attributes(
        beside if beside.is_file() else path,
        manifest.pids,
        dataset=manifest.name,
        required=manifest.splits == "train",
    )
    note = f"{len(names)} attributes: {', '.join(names)}"
    return replace(manifest, columns={"attributes": values}, notes=(*manifest.notes, note))


def _expected(title: str, distractors_500k: bool) -> dict[str, Count]:
    """Return the published counts, which are those of Market-1501 itself only."""
    if title != "market1501":
        return {}
    images, identities = _EXPECTED["gallery"]
    more = 500_000 if distractors_500k else 0
    return {**_EXPECTED, "gallery": Count(images + more, identities)}


class _Row(NamedTuple):
    path: str
    pid: int
    camid: int
    split: Split


@dataclass(frozen=True)
class _Part:
    rows: list[_Row]
    junk: int
    distractors_dropped: int
    misnamed: list[str]
    subfolders: list[str]
    stray: list[str]


def _find(root: Path) -> Path:
    for candidate in (root, *(root / nested for nested in _NESTED)):
        if any((candidate / name).is_dir() for name in FOLDERS.values()):
            return candidate
    expected = ", ".join(FOLDERS.values())
    if not root.is_dir():
        parent = next((p for p in root.parents if p.is_dir()), Path())
        place = "" if root.is_absolute() else ", nor one under REID_DATASETS"
        raise DataError(
            f"data set market1501: there is no folder {root}{place} (the nearest that exists is "
            f"{parent.resolve()}); set root to the folder that holds {expected}"
        )
    _, found, _ = _list(root)
    raise DataError(
        f"data set market1501: {root} holds none of the folders {expected}; it holds "
        f"{', '.join(found[:8]) if found else 'no folder'}; set root to the folder that holds them"
        f"{_layout_hint(root, found)}"
    )


def _layout_hint(folder: Path, subfolders: list[str]) -> str:
    """Name the reader of images that lie in a folder for each identity, if these do."""
    if not any(_list(folder / name)[0] for name in subfolders[:8]):
        return ""
    return (
        "; if each of these folders is an identity, the data set `folder` reads them: "
        f"{{name: folder, root: {folder}}}"
    )


def _scan_distractors(folder: Path) -> _Part:
    part = _scan(folder, _MORE_DISTRACTORS, "gallery")
    if not part.rows:
        raise DataError(
            f"data set market1501: distractors_500k is set, but there is no image named like "
            f"0000_c1s1_000451_03.jpg in {folder / _MORE_DISTRACTORS}; put the 500,000 distractors "
            "there, or leave distractors_500k out"
        )
    return replace(part, rows=[row._replace(pid=0) for row in part.rows])


def _scan(folder: Path, inside: str, split: Split) -> _Part:
    rows: list[_Row] = []
    misnamed: list[str] = []
    junk = distractors_dropped = 0
    images, subfolders, stray = _list(folder / inside)
    for name in images:
        match = _NAME.match(name)
        if match is None:
            misnamed.append(name)
            continue
        pid, camid = int(match.group(1)), int(match.group(2))
        if pid == -1:
            junk += 1
        elif pid == 0 and split != "gallery":
            distractors_dropped += 1
        else:
            rows.append(_Row(f"{inside}/{name}", pid, camid, split))
    return _Part(rows, junk, distractors_dropped, misnamed, subfolders, stray)


def _list(folder: Path) -> tuple[list[str], list[str], list[str]]:
    """Return the names of images, of folders, and of anything else in ``folder``, each sorted."""
    images: list[str] = []
    subfolders: list[str] = []
    stray: list[str] = []
    if not folder.is_dir():
        return images, subfolders, stray
    with os.scandir(folder) as entries:  # knows what is a folder without asking the disk again
        for entry in entries:
            # Finder and Explorer leave files such as ._0001_c1….jpg and Thumbs.db behind.
            if entry.name.startswith("."):
                stray.append(entry.name)
            elif entry.is_dir():
                subfolders.append(entry.name)
            elif os.path.splitext(entry.name)[1].lower() in SUFFIXES:  # noqa: PTH122 — 100 000 times
                images.append(entry.name)
            else:
                stray.append(entry.name)
    return sorted(images), sorted(subfolders), sorted(stray)


def _notes(parts: dict[str, _Part]) -> tuple[str, ...]:
    notes = []
    junk = sum(part.junk for part in parts.values())
    if junk:
        notes.append(f"{junk} junk images (identity -1) left out")
    dropped = sum(part.distractors_dropped for part in parts.values())
    if dropped:
        notes.append(f"{dropped} distractors (identity 0) outside the gallery left out")
    distractors = sum(row.pid == 0 for part in parts.values() for row in part.rows)
    if distractors:
        notes.append(f"{distractors} distractors (identity 0) in the gallery")
    misnamed = [name for part in parts.values() for name in part.misnamed]
    if misnamed:
        notes.append(
            f"{len(misnamed)} images ignored, whose names are not like 0002_c1s1_000451_03.jpg, "
            f"for example {misnamed[0]}"
        )
    stray = [name for part in parts.values() for name in (*part.stray, *part.subfolders)]
    if stray:
        notes.append(f"{len(stray)} stray files and folders ignored, for example {stray[0]}")
    return tuple(notes)


def _no_images(folder: Path, parts: dict[str, _Part]) -> str:
    misnamed = [name for part in parts.values() for name in part.misnamed][:3]
    subfolders = [name for part in parts.values() for name in part.subfolders][:3]
    if misnamed:
        seen = f"names that do not fit: {', '.join(misnamed)}"
    elif subfolders:
        seen = (
            f"folders: {', '.join(subfolders)} (all images of a split lie in one folder here, not "
            "in one an identity)"
        )
    else:
        seen = "no image"
    nested = [f"{inside}/{name}" for inside, part in parts.items() for name in part.subfolders]
    return (
        f"data set market1501: no usable image in {folder}; found {seen}; expected names like "
        "0002_c1s1_000451_03.jpg (identity_cCamera…) with a suffix of "
        f"{', '.join(sorted(SUFFIXES))}{_layout_hint(folder, nested)}"
    )
