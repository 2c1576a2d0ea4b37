"""Rows that stand for nobody: junk, and distractors."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from reid_core.data.manifest import Manifest

#: Pid of images that show only a part of somebody.
JUNK = -1

_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,18}")


def is_junk(manifest: Manifest) -> NDArray[np.bool_]:
    """Say which rows show only a part of somebody, (N,) bool.

    These are the ones of identity -1, also where identities are text.
    """
    return _rows_with(manifest, {JUNK})


def is_distractor(manifest: Manifest) -> NDArray[np.bool_]:
    """Say which rows are of an identity that the set calls a distractor, (N,) bool.

    Text counts as the number that it spells: ``0000`` is 0.
    """
    return _rows_with(manifest, set(manifest.distractors))


def stands_for_nobody(manifest: Manifest) -> NDArray[np.bool_]:
    """Say which rows are junk or distractors, (N,) bool."""
    return _rows_with(manifest, {JUNK, *manifest.distractors})


def _rows_with(manifest: Manifest, numbers: set[int]) -> NDArray[np.bool_]:
    chosen = [_number(pid) in numbers for pid in manifest.identities.tolist()]
    return np.array(chosen, dtype=bool)[manifest.pid_codes]


def _number(pid: int | str) -> int | None:
    if isinstance(pid, int):
        return pid
    text = pid.strip()
    return int(text) if _WHOLE_NUMBER.fullmatch(text) else None
