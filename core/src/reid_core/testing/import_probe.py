"""Imports modules one after the other and writes down what each of them did; a program of its own.

Called by :mod:`reid_core.testing.import_check` as
``python -m reid_core.testing.import_probe REPORT PRELOAD… -- MODULE…``.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reid_core.testing.global_state import global_state


def main(arguments: list[str]) -> None:
    """Import what is asked for, and write the report.

    Args:
        arguments: Path of the report, modules to load beforehand, ``--``, modules to watch.
    """
    report, *rest = arguments
    split = rest.index("--")
    for module in rest[:split]:
        importlib.import_module(module)
    found = {module: _watched_import(module) for module in rest[split + 1 :]}
    Path(report).write_text(json.dumps(found), encoding="utf-8")


def _watched_import(module: str) -> dict[str, object]:
    before, error, started = global_state(), "", time.process_time()
    with _caught_output() as output:
        try:
            importlib.import_module(module)
        except BaseException as caught:  # SystemExit too: the report must be written
            error = f"{type(caught).__name__}: {caught}"
    seconds = time.process_time() - started
    after = global_state()
    changes = {name: [before[name], after[name]] for name in before if before[name] != after[name]}
    return {"error": error, "output": output[0], "seconds": seconds, "changes": changes}


@contextmanager
def _caught_output() -> Iterator[list[str]]:
    # The file descriptors themselves: a library may print from C.
    text = [""]
    with tempfile.TemporaryFile() as file:
        kept = [os.dup(1), os.dup(2)]
        _flush()
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        try:
            yield text
        finally:
            _flush()
            for number, copy in zip((1, 2), kept, strict=True):
                os.dup2(copy, number)
                os.close(copy)
            file.seek(0)
            text[0] = file.read().decode(errors="replace")


def _flush() -> None:
    sys.stdout.flush()
    sys.stderr.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
