"""A data set built in another process, where hashes and folders come in another order."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Self

import numpy as np

from reid_core.data.manifest import Manifest
from reid_core.plugins.registries import DATASETS

#: A build that takes longer is given up, in seconds.
_TIMEOUT = 180
#: What differs in the other process, and how the probe is told.
CIRCUMSTANCES = {"another PYTHONHASHSEED": "hash", "folders listed in another order": "folders"}


def fingerprint(manifest: object) -> str:
    """Return a digest of all that a manifest says; equal for equal rows in equal order."""
    if not isinstance(manifest, Manifest):
        return f"a {type(manifest).__name__}"
    facts = (manifest.has_cameras, manifest.distractors, sorted(manifest.expected.items()))
    digest = hashlib.sha256(f"{manifest.name} {manifest.root.absolute()} {facts}".encode())
    columns = {"paths": manifest.paths, "pids": manifest.pids, "camids": manifest.camids}
    for name, values in {**columns, "splits": manifest.splits, **manifest.columns}.items():
        # Text of any width keeps its letters elsewhere than in the array.
        is_any_width = np.asarray(values).dtype.kind == "T"
        array = np.ascontiguousarray(
            np.array(values.tolist(), dtype=np.str_) if is_any_width else values
        )
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def build_elsewhere(name: str, parameters: Mapping[str, object]) -> dict[str, str]:
    """Build a data set in other processes.

    Args:
        name: Qualified name of the data set.
        parameters: Its parameters, plain types.

    Returns:
        The fingerprint by what differed.

    Raises:
        RuntimeError: The process failed.
    """
    from reid_core.testing.subprocesses import child_environment

    found = {}
    for circumstance, mode in CIRCUMSTANCES.items():
        # As a file: as a module it would load the whole kit first, and with it torch.
        command = [sys.executable, "-P", __file__, mode, name]
        done = subprocess.run(
            [*command, json.dumps(dict(parameters))],
            env=child_environment(sys.path, PYTHONHASHSEED="12345"),
            capture_output=True,
            text=True,
            timeout=_TIMEOUT,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(done.stderr[-1000:])
        found[circumstance] = done.stdout.split()[-1]
    return found


class _Reversed:
    """What ``os.scandir`` returns, backwards."""

    def __init__(self, entries: Iterator[os.DirEntry[str]]) -> None:
        self._entries = iter(sorted(entries, key=lambda entry: entry.name, reverse=True))

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> os.DirEntry[str]:
        return next(self._entries)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()

    def close(self) -> None:
        """Do nothing: all entries are read already."""


def _list_folders_backwards() -> None:
    """Have this process see folders in an order in which no file system is likely to list them."""
    listdir, scandir = os.listdir, os.scandir

    def backwards(path: str = ".") -> list[str]:
        return sorted(listdir(path), reverse=True)

    def scan_backwards(path: str = ".") -> _Reversed:
        with scandir(path) as entries:
            return _Reversed(entries)

    os.listdir = backwards  # type: ignore[assignment]
    os.scandir = scan_backwards  # type: ignore[assignment]


def main(arguments: list[str]) -> None:
    """Build a data set and print its fingerprint.

    Args:
        arguments: ``hash`` or ``folders``, qualified name, parameters as JSON.
    """
    mode, name, parameters = arguments
    DATASETS.get(name)
    if mode == "folders":
        _list_folders_backwards()
    print(fingerprint(DATASETS.build({"name": name, **json.loads(parameters)})))  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
