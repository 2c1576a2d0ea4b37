"""Images packed into one file: an LMDB database whose keys are paths."""

from __future__ import annotations

import errno
import hashlib
import os
import threading
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from reid_core.errors import DataError

if TYPE_CHECKING:
    import lmdb

#: The file that LMDB keeps its data in.
DATA_FILE = "data.mdb"

#: LMDB refuses longer keys than 511 bytes.
_MAX_KEY = 500


@dataclass(frozen=True)
class _Opened:
    process: int
    version: tuple[int, int, int]
    environment: lmdb.Environment


#: LMDB lets a process open a database once, so stores of one file share what is opened.
_opened: dict[str, _Opened] = {}
_opening = threading.Lock()


@dataclass(frozen=True)
class PackedStore:
    """The images of a packed folder, for reading; any number of processes and threads may.

    The database is opened by the process that reads, when it first does: a worker that is forked
    from one that has read opens its own. Nothing is locked or written, so the folder may be on a
    disk that is read-only. What lies beside an image is not read ahead, for images are read in
    random order.

    Args:
        root: The folder, as an absolute path.
    """

    root: str

    def read(self, path: str) -> bytes:
        """Return the bytes of an image file.

        Raises:
            OSError: There are none under this path, or the database is damaged.
            DataError: The package lmdb is not installed.
        """
        lmdb = require_lmdb()
        try:
            with self._environment().begin() as transaction:
                data: bytes | None = transaction.get(key_of(path))
        except lmdb.Error as error:
            raise OSError(errno.EIO, f"the packed store {self.root} is damaged: {error}") from error
        if data is None:
            raise FileNotFoundError(errno.ENOENT, f"the packed store {self.root} has no such image")
        return data

    def locate(self, path: str) -> str:
        """Say where an image is: inside of the database's file."""
        return f"{self.root}/{DATA_FILE}/{path}"

    def count(self) -> int:
        """Return how many images there are.

        Raises:
            OSError: The database cannot be opened, or its file is cut short.
        """
        lmdb = require_lmdb()
        try:
            environment = self._environment()
            facts, pages = environment.stat(), environment.info()["last_pgno"] + 1
        except lmdb.Error as error:
            raise OSError(errno.EIO, f"the packed store {self.root} is damaged: {error}") from error
        # Reading a page beyond the end of the file would end the process, without a word.
        expected, found = pages * facts["psize"], (Path(self.root) / DATA_FILE).stat().st_size
        if found < expected:
            raise OSError(
                errno.EIO,
                f"the packed store {self.root} is cut short: {DATA_FILE} has {found} of "
                f"{expected} bytes",
            )
        return int(facts["entries"])

    def _environment(self) -> lmdb.Environment:
        known = _opened.get(self.root)
        if known is not None and known.process == os.getpid():
            return known.environment
        with _opening:
            return _open(self.root, os.getpid())


def forget(root: str) -> None:
    """Close what this process has open of a folder, unless the file is still the same."""
    with _opening:
        known = _opened.get(root)
        if known is not None and known.version != _version(root):
            known.environment.close()
            del _opened[root]


def _open(root: str, process: int) -> lmdb.Environment:
    known = _opened.get(root)
    if known is not None and known.process == process:
        return known.environment
    if known is not None:
        # Inherited from the process that this one was forked from, which keeps its own.
        known.environment.close()
    environment = require_lmdb().open(
        root, readonly=True, create=False, lock=False, readahead=False, max_spare_txns=4
    )
    _opened[root] = _Opened(process, _version(root), environment)
    opened: lmdb.Environment = environment
    return opened


def _version(root: str) -> tuple[int, int, int]:
    status = (Path(root) / DATA_FILE).stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


def key_of(path: str) -> bytes:
    """Return the key of an image: its path, or the hash of one that is too long for LMDB."""
    key = path.encode()
    return key if len(key) <= _MAX_KEY else b"blake2b:" + hashlib.blake2b(key).digest()


def require_lmdb() -> ModuleType:
    """Return the package lmdb.

    Raises:
        DataError: It is not installed.
    """
    try:
        import lmdb
    except ImportError as error:
        raise DataError(
            f"packed data needs the package lmdb, which cannot be imported ({error}); "
            "pip install 'reid-core[lmdb]'"
        ) from error
    return lmdb
