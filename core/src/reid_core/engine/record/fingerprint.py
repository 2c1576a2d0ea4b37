"""A short mark of each data set, by which a run can tell that its data is still the same.

It covers the rows and every column in their order, so that an image more, another identity or
another order is seen. It does not read images. Sizes of files are compared for some of them, which
shows a set that was scaled or compressed anew; a single picture that was replaced by another one is
seen in small sets only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from reid_core.data.manifest import SPLITS, Manifest
from reid_core.data.packed_store import DATA_FILE, PackedStore
from reid_core.data.query_gallery import TestSet
from reid_core.data.stores import FolderStore
from reid_core.engine.resuming.changes import Change

#: Images whose file is looked at; the sizes of a million would take minutes on a network disk.
MAX_FILES = 1000

#: Texts that are turned into bytes at a time.
_CHUNK = 2**16

Role = Literal["train", "test"]


@dataclass(frozen=True)
class SetFingerprint:
    """The mark of one data set.

    Args:
        role: What it is used for.
        name: Its name.
        rows: Number of rows.
        identities: Number of identities among them.
        cameras: Number of cameras; 0 where they are not known.
        columns: SHA-256 of all columns in the order of the rows, paths among them.
        files: What is known of the images' bytes without reading them: how many files were looked
            at and the SHA-256 of their sizes, or the size of the file they are packed in.
    """

    role: Role
    name: str
    rows: int
    identities: int
    cameras: int
    columns: str
    files: str

    @classmethod
    def of(cls, role: Role, manifest: Manifest) -> SetFingerprint:
        """Take the mark of a data set.

        Args:
            role: What it is used for.
            manifest: Its rows that are used.
        """
        return cls(
            role=role,
            name=manifest.name,
            rows=len(manifest),
            identities=len(manifest.identities),
            cameras=len(manifest.cameras),
            columns=_hash_of_columns(manifest),
            files=_files(manifest),
        )

    def plain(self) -> dict[str, object]:
        """Return plain types for a checkpoint or JSON."""
        return {
            "role": self.role,
            "name": self.name,
            "rows": self.rows,
            "identities": self.identities,
            "cameras": self.cameras,
            "columns": self.columns,
            "files": self.files,
        }


def fingerprints(train: Sequence[Manifest], test: Sequence[TestSet]) -> tuple[SetFingerprint, ...]:
    """Take the mark of every set of a run, training sets first.

    Args:
        train: The training rows.
        test: Queries and galleries.
    """
    trained = [SetFingerprint.of("train", manifest) for manifest in train]
    return (*trained, *(SetFingerprint.of("test", one.rows) for one in test))


def data_differences(was: object, now: Sequence[SetFingerprint]) -> list[Change]:
    """Compare the data of a run with that of today.

    Args:
        was: The marks as plain types, as a checkpoint or ``data.json`` has them; None, of a
            checkpoint that has none, differs in nothing.
        now: The marks of the sets as they are.

    Returns:
        What differs, with paths such as ``data.train.market1501.rows``, in the order of the sets.
    """
    if was is None:
        return []
    before = _by_set(cast("Sequence[Mapping[str, object]]", was))
    after = _by_set([one.plain() for one in now])
    return [d for key in {**before, **after} for d in _of_set(key, before.get(key), after.get(key))]


def _by_set(
    marks: Sequence[Mapping[str, object]],
) -> dict[tuple[object, object], Mapping[str, object]]:
    return {(mark["role"], mark["name"]): mark for mark in marks}


def _of_set(
    key: tuple[object, object],
    was: Mapping[str, object] | None,
    now: Mapping[str, object] | None,
) -> Iterator[Change]:
    path = f"data.{key[0]}.{key[1]}"
    if was is None or now is None:
        yield Change(path, _size(was), _size(now))
        return
    for fact, value in was.items():
        if value != now.get(fact):
            yield Change(f"{path}.{fact}", value, now.get(fact))


def _size(mark: Mapping[str, object] | None) -> str | None:
    return None if mark is None else f"{mark['rows']} rows"


def _hash_of_columns(manifest: Manifest) -> str:
    # Splits are few words, often one for all rows, and need not be text here.
    codes = np.zeros(len(manifest), dtype=np.uint8)
    for code, split in enumerate(SPLITS):
        codes[manifest.splits == split] = code
    columns = {
        "paths": manifest.paths,
        "pids": manifest.pids,
        "camids": manifest.camids,
        "splits": codes,
        **{f"columns/{name}": manifest.columns[name] for name in sorted(manifest.columns)},
    }
    digest = hashlib.sha256(f"{len(manifest)} {manifest.has_cameras}".encode())
    for name, values in columns.items():
        for part in _bytes_of(name, cast("NDArray[np.generic]", values)):
            digest.update(part)
    return digest.hexdigest()


def _bytes_of(name: str, values: NDArray[np.generic]) -> Iterator[bytes]:
    kind = values.dtype.kind
    is_text = kind in "UTO"
    yield f"\0{name} {'T' if is_text else kind} {values.shape}\0".encode()
    if is_text:
        texts = values.reshape(-1)
        for start in range(0, len(texts), _CHUNK):
            part = texts[start : start + _CHUNK].tolist()
            yield "\0".join(map(str, part)).encode(errors="surrogatepass") + b"\0"
        return
    # In one width and byte order, so that the same numbers are the same bytes on every machine.
    wide = {"i": "<i8", "u": "<u8", "f": "<f8"}.get(kind)
    exact = values if wide is None else values.astype(wide, copy=False)
    yield np.ascontiguousarray(exact).tobytes()


def _files(manifest: Manifest) -> str:
    store = manifest.images
    if isinstance(store, PackedStore):
        return f"packed, {_size_of(Path(store.root) / DATA_FILE)} bytes"
    if not isinstance(store, FolderStore) or len(manifest) == 0:
        return type(store).__name__
    number = min(len(manifest), MAX_FILES)
    places = np.linspace(0, len(manifest) - 1, number).astype(np.intp)
    paths: list[str] = manifest.paths[places].tolist()
    sizes = ",".join(str(_size_of(Path(store.locate(path)))) for path in paths)
    return f"{number} files, sizes sha256:{hashlib.sha256(sizes.encode()).hexdigest()}"


def _size_of(path: Path) -> int:
    """Return the size of a file; -1 where it cannot be had, which the reader of images tells."""
    try:
        return path.stat().st_size
    except OSError:
        return -1
