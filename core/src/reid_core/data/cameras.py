"""The cameras that a model is trained with, and their codes in other sets of images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from reid_core.data.manifest import IdArray, Manifest
from reid_core.errors import DataError


@dataclass(frozen=True, eq=False)
class CameraMap:
    """The cameras of each training set, in the order of their codes.

    Codes count through the sets in the order given, and inside a set through its cameras in sorted
    order. Cameras of different sets never share a code, whatever they are called.

    Args:
        cameras: For each set its name and its cameras, sorted.
    """

    cameras: tuple[tuple[str, IdArray], ...]

    @classmethod
    def of(cls, manifests: Sequence[Manifest]) -> CameraMap:
        """Build the map of the given training sets."""
        return cls(tuple((m.name, cast("IdArray", np.unique(m.camids))) for m in manifests))

    @property
    def num_cameras(self) -> int:
        """Number of cameras over all training sets."""
        return sum(len(cameras) for _, cameras in self.cameras)

    def codes(self, manifest: Manifest) -> NDArray[np.int64]:
        """Return the codes (N,) of the rows of a set, found by the set's name.

        Raises:
            DataError: The set was not trained with, or one of its cameras was not.
        """
        names = [name for name, _ in self.cameras]
        if manifest.name not in names:
            raise DataError(
                f"data set {manifest.name}: the model is conditioned on the cameras of its "
                f"training sets ({', '.join(names) or 'none'}), which this is none of; {_ADVICE}"
            )
        return self._codes(names.index(manifest.name), manifest.camids)

    def training_codes(self, manifests: Sequence[Manifest]) -> NDArray[np.int64]:
        """Return the codes (N,) of the rows of the training sets, one set after the other."""
        return np.concatenate([self._codes(i, m.camids) for i, m in enumerate(manifests)])

    def _codes(self, position: int, camids: IdArray) -> NDArray[np.int64]:
        name, cameras = self.cameras[position]
        known = np.isin(camids, cameras)
        if not known.all():
            raise DataError(
                f"data set {name}: camera {camids[~known][0]} is not among the {len(cameras)} "
                f"cameras of its training images ({_some(cameras)}), and the model is conditioned "
                f"on those; {_ADVICE}"
            )
        before = sum(len(others) for _, others in self.cameras[:position])
        return np.searchsorted(cameras, camids).astype(np.int64) + before

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
    """Return camera codes (N,): 0.. over all sets, sorted inside a set, never shared by two."""
    return CameraMap.of(manifests).training_codes(manifests)


def number_of_views(manifests: Sequence[Manifest]) -> int | None:
    """Return how many views the training sets tell apart, or None where one does not say.

    Raises:
        DataError: A column ``viewids`` is not of whole numbers from 0.
    """
    views = []
    for manifest in manifests:
        column = manifest.columns.get("viewids")
        if column is None:
            return None
        if column.dtype.kind not in "iu" or column.ndim != 1 or (len(column) and column.min() < 0):
            raise DataError(
                f"data set {manifest.name}: column viewids is {column.dtype} {column.shape}; "
                "expected (N,) integers from 0"
            )
        views.append(int(column.max()) + 1 if len(column) else 0)
    return max(views, default=0) or None


def _some(cameras: IdArray) -> str:
    shown = ", ".join(str(camera) for camera in cameras[:8])
    return shown if len(cameras) <= 8 else f"{shown}, …"
