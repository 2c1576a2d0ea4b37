"""The cameras that a model is trained with, and their codes in other sets of images."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reid_core.data.manifest import IdArray, Manifest
from reid_core.errors import DataError

log = logging.getLogger("reid_core")


@dataclass(frozen=True, eq=False)
class CameraMap:
    """The cameras of each training set, in the order of their codes.

    Codes count through the sets in the order given, and inside a set through its cameras in sorted
    order. Cameras of different sets never share a code, whatever they are called. A set that does
    not know its cameras has none.

    Args:
        cameras: For each set its name and its cameras, sorted.
    """

    cameras: tuple[tuple[str, IdArray], ...]

    @classmethod
    def of(cls, manifests: Sequence[Manifest]) -> CameraMap:
        """Build the map of the given training sets."""
        return cls(tuple((m.name, m.cameras) for m in manifests))

    @property
    def num_cameras(self) -> int | None:
        """Number of cameras over all training sets; None where one does not know its own."""
        if not all(len(cameras) for _, cameras in self.cameras):
            return None
        return sum(len(cameras) for _, cameras in self.cameras)

    def codes(self, manifest: Manifest) -> NDArray[np.int64]:
        """Return the codes (N,) of the rows of a set, found by the set's name.

        Raises:
            DataError: The set was not trained with, or one of its cameras was not.
        """
        if not manifest.has_cameras:
            raise DataError(f"data set {manifest.name}: its cameras are not known; {_ADVICE}")
        names = [name for name, _ in self.cameras]
        if manifest.name not in names:
            raise DataError(
                f"data set {manifest.name}: the model is conditioned on the cameras of its "
                f"training sets ({', '.join(names) or 'none'}), which this is none of; {_ADVICE}"
            )
        return self._codes(names.index(manifest.name), manifest)

    def training_codes(self, manifests: Sequence[Manifest]) -> NDArray[np.int64]:
        """Return the codes (N,) of the rows of the training sets, one set after the other.

        Rows of a set that does not know its cameras have -1.
        """
        return np.concatenate(
            [
                self._codes(i, m) if m.has_cameras else np.full(len(m), -1, dtype=np.int64)
                for i, m in enumerate(manifests)
            ]
        )

    def _codes(self, position: int, manifest: Manifest) -> NDArray[np.int64]:
        name, cameras = self.cameras[position]
        if not len(cameras):
            raise DataError(f"data set {name}: its cameras are not known; {_ADVICE}")
        places = {camera: place for place, camera in enumerate(cameras.tolist())}
        found = manifest.cameras.tolist()
        unknown = [camera for camera in found if camera not in places]
        if unknown:
            raise DataError(
                f"data set {name}: camera {unknown[0]} is not among the {len(cameras)} "
                f"cameras of its training images ({_some(cameras)}), and the model is conditioned "
                f"on those; {_ADVICE}"
            )
        before = sum(len(others) for _, others in self.cameras[:position])
        codes = np.array([places[camera] + before for camera in found], dtype=np.int64)
        return codes[manifest.camid_codes]

    def to_plain(self) -> list[dict[str, object]]:
        """Return the map as plain types, for a checkpoint: code = position over all lists."""
        return [{"dataset": name, "cameras": cams.tolist()} for name, cams in self.cameras]

    @classmethod
    def from_plain(cls, plain: Sequence[Mapping[str, object]]) -> CameraMap:
        """Make a map of what :meth:`to_plain` returned."""
        return cls(tuple((str(e["dataset"]), np.array(e["cameras"])) for e in plain))


_ADVICE = (
    "evaluate on a set whose cameras were trained with, or train without the condition "
    "(model.backbone: sie: null)"
)


def camera_codes(manifests: Sequence[Manifest]) -> NDArray[np.int64]:
    """Return camera codes (N,): 0.. over all sets, sorted inside a set, never shared by two.

    Rows of a set that does not know its cameras have -1.
    """
    return CameraMap.of(manifests).training_codes(manifests)


def are_view_codes(column: NDArray[np.generic]) -> bool:
    """Say whether a column ``viewids`` can be read: (N,) integers from 0."""
    if column.dtype.kind not in "iu" or column.ndim != 1:
        return False
    return bool((column.astype(np.int64) >= 0).all())


def number_of_views(manifests: Sequence[Manifest]) -> int | None:
    """Return how many views the training sets tell apart, or None where one does not say.

    A column ``viewids`` that is not of whole numbers from 0 says nothing, and is warned of.
    """
    views = []
    for manifest in manifests:
        column = manifest.columns.get("viewids")
        if column is None:
            return None
        if not are_view_codes(column):
            log.warning(
                "data set %s: column viewids is not (N,) integers from 0, so views count as not "
                "known; number them, and leave out the column where one is missing",
                manifest.name,
            )
            return None
        views.append(int(column.max()) + 1 if len(column) else 0)
    return max(views, default=0) or None


def _some(cameras: IdArray) -> str:
    shown = ", ".join(str(camera) for camera in cameras[:8])
    return shown if len(cameras) <= 8 else f"{shown}, …"
