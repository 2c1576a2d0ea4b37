"""Further columns of data sets, as batches carry them."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from reid_core.data.manifest import Manifest
from reid_core.errors import DataError

log = logging.getLogger("reid_core")

#: Kinds of numpy's dtypes that become tensors.
_NUMBERS = "biuf"
#: Columns that loaders add themselves.
_RESERVED = frozenset({"requested", "is_valid", "training_camids"})
#: Columns about the file rather than what it shows; batches have no use for them, and float32 has
#: not the precision of a time.
_NOT_IN_BATCHES = frozenset({"boxes", "times", "frames"})


def number_columns(manifests: Sequence[Manifest]) -> Mapping[str, NDArray[np.generic]]:
    """Return the columns of numbers that all sets have, one set after the other.

    A column that has another number of values a row in another set is left out, with a warning.
    Text stays in the manifest, and so do boxes, times and frame numbers. Unsigned integers become
    int64, other floating point float32.

    Args:
        manifests: The sets.

    Returns:
        Arrays (N, …) by name: bool, int64 or float32.

    Raises:
        DataError: A name is reserved.
    """
    columns = {}
    _warn_of_other_widths(manifests)
    for name in _shared_names(manifests):
        parts = [manifest.columns[name] for manifest in manifests]
        if name in _NOT_IN_BATCHES or any(part.dtype.kind not in _NUMBERS for part in parts):
            continue
        if name in _RESERVED:
            raise DataError(
                f"data set {manifests[0].name}: column {name} has a reserved name; rename it"
            )
        columns[name] = _plain(_joined(name, manifests))
    return columns


def shared_columns(manifests: Sequence[Manifest]) -> Mapping[str, NDArray[np.generic]]:
    """Return all columns that all sets have, numbers and text, one set after the other.

    Columns that are numbers in one set and text in another become text. One that has another
    number of values a row in another set is left out.

    Args:
        manifests: The sets.

    Returns:
        Arrays (N, …) by name.
    """
    return {name: _joined(name, manifests) for name in _shared_names(manifests)}


def _shared_names(manifests: Sequence[Manifest]) -> list[str]:
    if not manifests:
        return []
    first, *others = manifests
    shared = [name for name in first.columns if all(name in m.columns for m in others)]
    return [name for name in shared if len(_widths(name, manifests)) == 1]


def _widths(name: str, manifests: Sequence[Manifest]) -> set[tuple[int, ...]]:
    return {m.columns[name].shape[1:] for m in manifests if name in m.columns}


def _warn_of_other_widths(manifests: Sequence[Manifest]) -> None:
    for name in manifests[0].columns if manifests else ():
        if len(_widths(name, manifests)) > 1:
            shapes = {m.name: m.columns[name].shape for m in manifests if name in m.columns}
            log.warning(
                "column %s is left out: it has another number of values a row in each set that is "
                "joined: %s; a loss or sampler that reads it will say that it is not there",
                name,
                shapes,
            )


def _joined(name: str, manifests: Sequence[Manifest]) -> NDArray[np.generic]:
    parts = [manifest.columns[name] for manifest in manifests]
    if len(parts) == 1:
        return parts[0]
    is_text = [part.dtype.kind not in _NUMBERS for part in parts]
    if any(is_text) and not all(is_text):
        parts = [np.array(list(map(str, part.tolist()))) for part in parts]
    return np.concatenate(parts)


def _plain(values: NDArray[np.generic]) -> NDArray[np.generic]:
    if values.dtype.kind == "b":
        return values
    return values.astype(np.float32 if values.dtype.kind == "f" else np.int64)
