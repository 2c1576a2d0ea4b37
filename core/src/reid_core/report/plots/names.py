"""Names of files for test sets, whatever these are called."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

#: Characters that are kept of a name: paths have an end.
MAX_LENGTH = 60


def file_stems(names: Sequence[str]) -> tuple[str, ...]:
    """Return a name of a file for each name, no two of them equal.

    What cannot stand in a file name becomes ``_``. A name that was changed so, or that differs from
    another only in case, gets a part of its hash: ``a/1`` and ``b/1``, or ``A`` and ``a``, stay
    apart on every file system, and a name gives the same file in each run.

    Args:
        names: All different.
    """
    safe = [_safe(name) for name in names]
    kept = [one.casefold() for one, name in zip(safe, names, strict=True) if one == name]
    return tuple(
        one if one == name and kept.count(one.casefold()) == 1 else f"{one}-{_hash(name)}"
        for one, name in zip(safe, names, strict=True)
    )


def _safe(name: str) -> str:
    kept = re.sub(r"[^A-Za-z0-9_.-]+", "_", name)[:MAX_LENGTH]
    # A leading dot hides a file, a leading dash looks like an option.
    return re.sub(r"^[.-]+", "_", kept) or "_"


def _hash(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", errors="surrogatepass")).hexdigest()[:8]
