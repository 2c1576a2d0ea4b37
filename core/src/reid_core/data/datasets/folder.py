"""Folders of images: one an identity, or by a template of paths."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reid_core.data.datasets.how_to_set import how_to_set
from reid_core.data.datasets.image_files import ImageFiles, name_of, walk_images
from reid_core.data.datasets.missing_places import describe_nearest, first_names, require_folder
from reid_core.data.datasets.path_template import PathTemplate
from reid_core.data.datasets.split_names import SplitNames
from reid_core.data.datasets.tables.further import seconds_of
from reid_core.data.datasets.text_ids import id_column
from reid_core.data.manifest import SPLITS, Manifest, Split, no_cameras, text_column
from reid_core.errors import ConfigError, DataError
from reid_core.paths import resolve_root
from reid_core.wording import counted

_MARKET_NAME = re.compile(r"(?:-1|[0-9]+)_c[0-9]+")
_OWN = frozenset({"pid", "camid", "split"})
#: Columns that hold whole numbers.
_NUMBERS = frozenset({"frames", "viewids"})


@dataclass(frozen=True)
class _Row:
    split: Split
    path: str
    pid: str
    fields: Mapping[str, str] = field(default_factory=dict)


def folder(
    root: str | Path,
    *,
    pattern: str | None = None,
    splits: Mapping[str, Split | None] | None = None,
    title: str | None = None,
) -> Manifest:
    """Read the images of a folder.

    Without a pattern each folder below ``root`` is an identity, with images at any depth; or each
    is a split (``train``, ``query``, ``gallery`` or ``test``, …) with a folder for each identity.
    Such data knows no cameras. With a pattern the paths say identity, camera, split and more.

    Hidden files and other suffixes are ignored; how many, and how many images do not fit, is noted.

    Args:
        root: The folder. A relative path is also looked for under ``REID_DATASETS``.
        pattern: A template of the images' paths below ``root``, such as
            ``{split}/{pid}_c{camid:d}s*.jpg`` or ``{pid}/{camid}/*``; see :class:`PathTemplate`.
        splits: What the data's own names of splits stand for, ``{val: gallery}``; null leaves
            those images out.
        title: What the data is called in results; null is the folder's name.

    Returns:
        The manifest, in the order train, query, gallery, paths sorted. Identities and cameras are
        integers where all are written so, without leading zeros, and text otherwise.

    Raises:
        ConfigError: The pattern or ``splits`` cannot be.
        DataError: The folder is not there, or no image in it fits.
    """
    place = resolve_root(root)
    name = title or name_of(place) or "folder"
    what = f"data set {name}"
    template = None if pattern is None else PathTemplate(pattern, what=what)
    names = SplitNames(splits, what=what)
    require_folder(
        place, what=what, advice="set root to the folder that holds a folder for each identity"
    )
    files = walk_images(place)
    reader = _Reader(place, files, names, what)
    rows = reader.by_identity() if template is None else reader.by_template(template)
    rows.sort(key=lambda row: (SPLITS.index(row.split), row.path))
    camids = [row.fields["camid"] for row in rows if "camid" in row.fields]
    return Manifest(
        name=name,
        root=place,
        paths=text_column(row.path for row in rows),
        pids=id_column(row.pid for row in rows),
        camids=id_column(camids) if camids else no_cameras(len(rows)),
        splits=np.array([row.split for row in rows]),
        notes=(*reader.notes, *files.notes()),
        columns={} if template is None else _further(rows, template, what),
        has_cameras=bool(camids),
    )


class _Reader:
    def __init__(self, root: Path, files: ImageFiles, names: SplitNames, what: str) -> None:
        self._root = root
        self._files = files
        self._names = names
        self._what = what
        self.notes: list[str] = []

    def by_identity(self) -> list[_Row]:
        tops = {path.split("/", 1)[0] for path in self._files.paths if "/" in path}
        has_splits = any(self._names.knows(top) for top in tops)
        meanings = self._meanings(tops) if has_splits else {}
        rows: list[_Row] = []
        misfits: list[str] = []
        for path in self._files.paths:
            top, _, below = path.partition("/")
            split = meanings[top] if has_splits and below else "train"
            pid, _, rest = below.partition("/") if has_splits else (top, "", below)
            if not rest:
                misfits.append(path)
            elif split is not None:
                rows.append(_Row(split, path, pid))
        self._note_left_out(rows, misfits, "in no folder of an identity")
        if not rows:
            raise DataError(self._no_identity(misfits))
        self._refuse_a_folder_too_high(rows)
        return rows

    def by_template(self, template: PathTemplate) -> list[_Row]:
        fitting = []
        misfits = []
        for path in self._files.paths:
            fields = template.match(path)
            if fields is None:
                misfits.append(path)
            else:
                fitting.append((path, fields))
        if not fitting:
            raise DataError(self._no_match(template))
        written = {fields["split"] for _, fields in fitting if "split" in fields}
        meanings = self._names.meanings(written, place=f"{self._root}, {template.pattern}")
        rows = []
        for path, fields in fitting:
            split = meanings[fields["split"]] if "split" in fields else "train"
            if split is not None:
                rows.append(_Row(split, path, fields["pid"], fields))
        self._note_left_out(rows, misfits, f"whose paths do not fit {template.pattern}")
        return rows

    def _meanings(self, tops: set[str]) -> dict[str, Split | None]:
        try:
            return self._names.meanings(tops, place=str(self._root))
        except DataError as error:
            raise DataError(
                f"{error}; if all of these folders are identities: "
                f"{how_to_set('pattern', '{pid}/**')}"
            ) from error

    def _note_left_out(self, rows: list[_Row], misfits: list[str], why: str) -> None:
        if misfits:
            count = len(misfits)
            self.notes.append(f"{counted(count, 'image')} ignored, {why}, for example {misfits[0]}")
        by_split = len(self._files.paths) - len(rows) - len(misfits)
        if by_split:
            self.notes.append(f"{counted(by_split, 'image')} left out, as splits says")

    def _refuse_a_folder_too_high(self, rows: list[_Row]) -> None:
        pids = {row.pid for row in rows}
        within = [row.path.partition(f"{row.pid}/")[2] for row in rows]
        if len(pids) > 1 or not all("/" in path for path in within):
            return
        (pid,) = pids
        folders = sorted({path.partition("/")[0] for path in within})
        below = self._root / rows[0].path.partition(f"{pid}/")[0] / pid
        raise DataError(
            f"{self._what}: {self._root} holds one identity, {pid}, with the folders "
            f"{first_names(folders)}; if these are the identities or splits: "
            f"{how_to_set('root', str(below))}"
        )

    def _no_identity(self, misfits: list[str]) -> str:
        expected = "expected root/IDENTITY/IMAGE or root/SPLIT/IDENTITY/IMAGE"
        if not misfits:
            return f"{self._what}: {self._root} holds {self._seen()}; {expected}"
        message = (
            f"{self._what}: no folder of an identity in {self._root}: images lie side by side, "
            f"such as {first_names(misfits)}; {expected}, or a pattern that says where the "
            f"identity is in the name, for example {how_to_set('pattern', '{pid}_*')}"
        )
        if not all(_MARKET_NAME.match(path.rpartition("/")[2]) for path in misfits):
            return message
        above = "{split}/" if "/" in misfits[0] else ""
        return (
            f"{message}; these names are those of Market-1501: read them with the data set "
            f"market1501, or with {how_to_set('pattern', above + '{pid}_c{camid:d}*')}"
        )

    def _no_match(self, template: PathTemplate) -> str:
        if not self._files.paths:
            return (
                f"{self._what}: {self._root} holds {self._seen()}; expected images whose paths fit "
                f"{template.pattern}"
            )
        fixed = template.pattern.partition("{")[0].partition("*")[0].rpartition("/")[0]
        beside = describe_nearest(self._root / fixed) if fixed else ""
        return (
            f"{self._what}: none of the {counted(len(self._files.paths), 'image')} in "
            f"{self._root} fits the "
            f"pattern {template.pattern}{beside}; the first are {first_names(self._files.paths)}; "
            "the pattern is the path below root, with forward slashes: {name} is a part of a name, "
            "* anything inside of one, ** any folders"
        )

    def _seen(self) -> str:
        stray = self._files.stray
        return "no image" + (f", only {first_names(stray)}" if stray else "")


def _further(rows: list[_Row], template: PathTemplate, what: str) -> dict[str, NDArray[np.generic]]:
    columns: dict[str, NDArray[np.generic]] = {}
    for name in template.fields:
        if name in _OWN:
            continue
        values = [row.fields[name] for row in rows]
        if name == "times":
            columns[name] = _seconds(rows, values, what)
        elif name in template.numbers:
            columns[name] = np.array([int(value) for value in values], dtype=np.int64)
        elif name in _NUMBERS:
            raise ConfigError(
                f"{what}: pattern {template.pattern}: {name} are numbers; write {{{name}:d}}"
            )
        else:
            columns[name] = np.array(values, dtype=np.str_)
    return columns


def _seconds(rows: list[_Row], values: list[str], what: str) -> NDArray[np.float64]:
    seconds = []
    for row, value in zip(rows, values, strict=True):
        time = seconds_of(value)
        if time is None:
            raise DataError(
                f"{what}: {row.path}: times is {value!r}; expected seconds, or a date such as "
                "2024-05-31; a part of the path that is no time needs another name"
            )
        seconds.append(time)
    return np.array(seconds, dtype=np.float64)
