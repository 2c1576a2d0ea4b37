"""Writing an LMDB database of images, in a folder that is there only when it is whole."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from reid_core.data.packed_store import key_of, require_lmdb

if TYPE_CHECKING:
    import lmdb

#: A transaction is ended when it holds as many bytes; each costs a pass over the pages it touched.
_BYTES_AT_ONCE = 2**25
#: A database begins with room for this much, and is given twice as much when it is full.
_FIRST_SIZE = 2**26


class PackedWriter:
    """Writes images; a context, at whose end everything is on the disk.

    Args:
        folder: An empty folder.

    Raises:
        DataError: The package lmdb is not installed.
    """

    def __init__(self, folder: Path) -> None:
        self._lmdb = require_lmdb()
        self._map_size = _FIRST_SIZE
        # Not synced before the end: until then the folder has no name that anybody looks for.
        self._environment: lmdb.Environment = self._lmdb.open(
            str(folder), map_size=_FIRST_SIZE, lock=False, sync=False
        )
        self._held: list[tuple[bytes, bytes]] = []
        self._num_held = 0

    def __enter__(self) -> PackedWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                self._flush()
                self._environment.sync(True)
        finally:
            self._environment.close()

    def put(self, path: str, content: bytes) -> None:
        """Add an image under its path."""
        self._held.append((key_of(path), content))
        self._num_held += len(content)
        if self._num_held >= _BYTES_AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        while True:
            try:
                with self._environment.begin(write=True) as transaction:
                    for key, content in self._held:
                        transaction.put(key, content)
            except self._lmdb.MapFullError:
                self._map_size *= 2
                self._environment.set_mapsize(self._map_size)
            else:
                self._held, self._num_held = [], 0
                return


@contextmanager
def folder_that_becomes(folder: Path) -> Iterator[Path]:
    """Give a new folder that takes a name when all went well, and is removed when not.

    Args:
        folder: The name; not there yet, or an empty folder.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = folder.with_name(f".{folder.name}.{os.getpid()}.tmp")
    # Of a process of the same number that was killed.
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    try:
        yield unfinished
        if folder.exists():
            folder.rmdir()
        unfinished.replace(folder)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
