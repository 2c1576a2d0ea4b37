"""When images were taken, as far as a data set says so."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reid_core.data.manifest import Manifest
from reid_core.errors import DataError

#: Columns that tell earlier from later inside of a recording.
_CLOCKS = ("times", "frames")

#: What an image does in the test of its identity.
GALLERY, BETWEEN, QUERY = 0, 1, 2


def stages_within(manifest: Manifest, identity: NDArray[np.intp]) -> NDArray[np.int64] | None:
    """Cut each identity's images at two moments of its own.

    Neighbouring frames of a track are nearly equal: a query among them would be found however bad
    the model is. So the first third of an identity's moments is for the gallery, the last third
    for queries, and what lies between keeps them apart. Recordings without a clock are apart
    already: queries come from the last one, and nothing lies between.

    Args:
        manifest: N rows with a column ``times``, ``frames`` or ``sequences``.
        identity: (N,) numbers of the identities.

    Returns:
        (N,) ``GALLERY``, ``BETWEEN`` or ``QUERY``; rows without a time are ``BETWEEN``, and so are
        those of an identity with a single moment. None where the data does not know times.
    """
    moments = _moments(manifest)
    if moments is None:
        return None
    has_clock = any(name in manifest.columns for name in _CLOCKS)
    stages = np.full(len(manifest), BETWEEN, dtype=np.int64)
    order = np.lexsort((moments, identity))
    order = order[moments[order] >= 0]
    bounds = np.flatnonzero(np.diff(identity[order])) + 1
    for rows in np.split(order, bounds):
        _, place = np.unique(moments[rows], return_inverse=True)
        count = int(place.max()) + 1 if len(rows) else 0
        if count < 2:
            continue
        third = max(1, count // 3)
        stages[rows[place < (third if has_clock else count - 1)]] = GALLERY
        stages[rows[place >= (count - third if has_clock else count - 1)]] = QUERY
    return stages


def stages_across(manifest: Manifest) -> NDArray[np.int64]:
    """Cut the whole set at its median moment: before it ``GALLERY``, after it ``QUERY``.

    Returns:
        (N,) of the two; ``BETWEEN`` for rows without a time.

    Raises:
        DataError: The data does not know times, or all are equal.
    """
    values = _clock(manifest)
    if values is None:
        known = ", ".join(sorted(manifest.columns)) or "none"
        raise DataError(
            f"data set {manifest.name}: --by time needs a column times, frames or sequences; its "
            f"further columns: {known}; add one, or cut it --by identity"
        )
    known_values = values[~np.isnan(values)]
    middle = np.median(known_values) if len(known_values) else np.nan
    is_late = values > middle
    if not is_late.any():
        is_late = values >= middle
    stages = np.where(is_late, QUERY, GALLERY)
    stages[np.isnan(values)] = BETWEEN
    if not (stages == GALLERY).any() or not (stages == QUERY).any():
        raise DataError(
            f"data set {manifest.name}: all its images have the same time, so there is no earlier "
            "and later; cut it --by identity"
        )
    return stages


def _clock(manifest: Manifest) -> NDArray[np.float64] | None:
    for name in _CLOCKS:
        if name in manifest.columns:
            return manifest.columns[name].astype(np.float64)
    sequences = manifest.columns.get("sequences")
    if sequences is None:
        return None
    places: NDArray[np.intp] = np.unique(sequences, return_inverse=True)[1]
    return places.astype(np.float64)


def _moments(manifest: Manifest) -> NDArray[np.int64] | None:
    """Number recordings and the moments in them in one order; -1 where there is no time."""
    clock = _clock(manifest)
    if clock is None:
        return None
    is_known = ~np.isnan(clock)
    ranks = np.unique(clock, return_inverse=True)[1].astype(np.int64)
    sequences = manifest.columns.get("sequences")
    if sequences is not None:
        recording = np.unique(sequences, return_inverse=True)[1].astype(np.int64)
        ranks = recording * (len(clock) + 1) + ranks
    return np.where(is_known, ranks, -1)
