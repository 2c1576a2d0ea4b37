"""Further columns of data sets, as batches carry them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from reid_core.data.manifest import Manifest
from reid_core.errors import DataError

#: Kinds of numpy's dtypes that become tensors.
_NUMBERS = "biuf"
#: Columns that loaders add themselves.
_RESERVED = frozenset({"requested", "is_valid", "training_camids"})


def number_columns(manifests: Sequence[Manifest]) -> Mapping[str, NDArray[np.generic]]:
    """Return the columns of numbers that all sets have, one set after the other.

    Text stays in the manifest. Unsigned integers become int64, other floating point float32.

    Args:
        manifests: The sets.

    Returns:
        Arrays (N, …) by name: bool, int64 or float32.

    Raises:
        DataError: Sets have a column of one name with other shapes, or a name is reserved.
    """
    if not manifests:
        return {}
    first, *others = manifests
    names = [name for name in first.columns if all(name in m.columns for m in others)]
    columns = {}
    for name in names:
        parts = [manifest.columns[name] for manifest in manifests]
        if any(part.dtype.kind not in _NUMBERS for part in parts):
            continue
        if name in _RESERVED:
            raise DataError(f"data set {first.name}: column {name} has a reserved name; rename it")
        if len({part.shape[1:] for part in parts}) > 1:
            shapes = {m.name: m.columns[name].shape for m in manifests}
            raise DataError(
                f"column {name} has other shapes in the sets that are joined: {shapes}; expected "
                "the same number of values a row"
            )
        columns[name] = _plain(np.concatenate(parts))
    return columns


def _plain(values: NDArray[np.generic]) -> NDArray[np.generic]:
    if values.dtype.kind == "b":
        return values
    return values.astype(np.float32 if values.dtype.kind == "f" else np.int64)
