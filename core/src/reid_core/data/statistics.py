"""Counts of a data set: images, identities, cameras and further columns, from its table alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reid_core.data.manifest import SPLITS, Manifest, Split
from reid_core.data.nobody import stands_for_nobody


@dataclass(frozen=True)
class Spread:
    """How some numbers are spread.

    Args:
        minimum: The smallest.
        median: The middle one.
        mean: Their mean.
        maximum: The largest.
    """

    minimum: float
    median: float
    mean: float
    maximum: float

    @classmethod
    def of(cls, values: NDArray[np.generic]) -> Spread | None:
        """Return the spread of (N,) numbers; None of no numbers."""
        if not len(values):
            return None
        numbers = values.astype(np.float64)
        return cls(
            float(numbers.min()),
            float(np.median(numbers)),
            float(numbers.mean()),
            float(numbers.max()),
        )


@dataclass(frozen=True)
class CameraStats:
    """What one camera took.

    Args:
        camera: Its name, as the source spells it.
        images: Number of images.
        identities: Number of identities among them.
    """

    camera: int | str
    images: int
    identities: int


@dataclass(frozen=True)
class SplitStats:
    """What a split holds.

    Args:
        split: Its name.
        images: Number of images, distractors among them.
        identities: Number of identities, distractors not among them.
        distractors: Number of images that show nobody in particular.
        cameras: Each camera in sorted order; none where they are not known.
        images_per_identity: Over the identities.
        cameras_per_identity: Over the identities; None where cameras are not known.
    """

    split: Split
    images: int
    identities: int
    distractors: int
    cameras: tuple[CameraStats, ...]
    images_per_identity: Spread | None
    cameras_per_identity: Spread | None


@dataclass(frozen=True)
class ColumnStats:
    """What a further column holds.

    Args:
        name: Its name.
        dtype: Type of its values: ``integer``, ``float``, ``truth value`` or ``text``.
        shape: Shape of the value of one image; ``()`` is a single value.
        missing: Number of images with a NaN, or an empty text.
        distinct: Number of different values of single values; None for others.
        minimum: Smallest number; None for text, and where there is none.
        maximum: Largest number.
        values: The first values of text in sorted order.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    missing: int
    distinct: int | None
    minimum: float | None
    maximum: float | None
    values: tuple[str, ...]


_KINDS = {"i": "integer", "u": "integer", "f": "float", "b": "truth value"}
#: Values of a text column that are shown.
_SHOWN = 5


def split_stats(manifest: Manifest) -> tuple[SplitStats, ...]:
    """Count each split that has images, in the order train, query, gallery."""
    selected = [(split, manifest.select(split)) for split in SPLITS]
    return tuple(_split(split, rows) for split, rows in selected if len(rows))


def column_stats(manifest: Manifest) -> tuple[ColumnStats, ...]:
    """Describe each further column, in sorted order."""
    return tuple(_column(name, manifest.columns[name]) for name in sorted(manifest.columns))


def _split(split: Split, rows: Manifest) -> SplitStats:
    is_known = ~stands_for_nobody(rows)
    known = rows.take(np.flatnonzero(is_known))
    images = np.unique(known.pids, return_counts=True)[1]
    pairs = _pairs(known)
    return SplitStats(
        split=split,
        images=len(rows),
        identities=len(images),
        distractors=int((~is_known).sum()),
        cameras=_cameras(rows, pairs),
        images_per_identity=Spread.of(images),
        cameras_per_identity=Spread.of(np.unique(pairs[0], return_counts=True)[1])
        if rows.has_cameras
        else None,
    )


def _pairs(rows: Manifest) -> tuple[NDArray[np.intp], NDArray[np.generic]]:
    """Return each pair of an identity (its number) and a camera once."""
    identity = np.unique(rows.pids, return_inverse=True)[1]
    cameras, camera = np.unique(rows.camids, return_inverse=True)
    numbers = np.unique(identity * max(len(cameras), 1) + camera)
    return numbers // max(len(cameras), 1), cameras[numbers % max(len(cameras), 1)]


def _cameras(
    rows: Manifest, pairs: tuple[NDArray[np.intp], NDArray[np.generic]]
) -> tuple[CameraStats, ...]:
    if not rows.has_cameras:
        return ()
    names, images = np.unique(rows.camids, return_counts=True)
    seen, identities = np.unique(pairs[1], return_counts=True)
    by_name = dict(zip(seen.tolist(), identities.tolist(), strict=True))
    return tuple(
        CameraStats(name, count, by_name.get(name, 0))
        for name, count in zip(names.tolist(), images.tolist(), strict=True)
    )


def _column(name: str, values: NDArray[np.generic]) -> ColumnStats:
    is_text = values.dtype.kind not in _KINDS
    is_single = values.ndim == 1
    if is_text:
        is_missing = (values == "").reshape(len(values), -1).any(axis=1)
        present = values[~is_missing]
    else:
        is_missing = np.isnan(values.astype(np.float64)).reshape(len(values), -1).any(axis=1)
        present = values[~is_missing]
    distinct = np.unique(present) if is_single else None
    has_numbers = not is_text and present.size > 0
    return ColumnStats(
        name=name,
        dtype=_KINDS.get(values.dtype.kind, "text"),
        shape=values.shape[1:],
        missing=int(is_missing.sum()),
        distinct=None if distinct is None else len(distinct),
        minimum=float(present.min()) if has_numbers else None,
        maximum=float(present.max()) if has_numbers else None,
        values=tuple(str(one) for one in distinct[:_SHOWN].tolist())
        if is_text and distinct is not None
        else (),
    )
