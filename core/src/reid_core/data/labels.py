"""Training labels: from the identities that data sets name to 0..num_classes-1 and back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from reid_core.data.manifest import IdArray, Manifest
from reid_core.errors import DataError


@dataclass(frozen=True, eq=False)
class LabelMap:
    """The identities of each training set, in label order.

    Labels count through the sets in the order given, and inside a set through its identities in
    sorted order, so the map is the same in every process and every run. Identities of different
    sets never share a label, whatever they are called.

    Args:
        identities: For each set its name and its identities, sorted.
    """

    identities: tuple[tuple[str, IdArray], ...]

    @classmethod
    def of(cls, manifests: Sequence[Manifest]) -> LabelMap:
        """Build the map of the given training sets."""
        return cls(tuple((m.name, m.identities) for m in manifests))

    @property
    def num_classes(self) -> int:
        """Number of training identities over all sets."""
        return sum(len(pids) for _, pids in self.identities)

    def labels(self, manifests: Sequence[Manifest]) -> NDArray[np.int64]:
        """Return the labels (N,) of the rows of ``manifests``, one set after the other.

        Raises:
            DataError: A row's identity is not in the map.
        """
        columns = []
        offset = 0
        for manifest, (name, pids) in zip(manifests, self.identities, strict=True):
            places = {pid: place for place, pid in enumerate(pids.tolist(), offset)}
            found = manifest.identities.tolist()
            unknown = [pid for pid in found if pid not in places]
            if unknown:
                raise DataError(
                    f"data set {name}: identity {unknown[0]} is not among the {len(pids)} training "
                    "identities of the label map"
                )
            codes = np.array([places[pid] for pid in found], dtype=np.int64)
            columns.append(codes[manifest.pid_codes])
            offset += len(pids)
        return np.concatenate(columns)

    def to_plain(self) -> list[dict[str, object]]:
        """Return the map as plain types, for a checkpoint: label = position over all lists."""
        return [{"dataset": name, "pids": pids.tolist()} for name, pids in self.identities]


def identities_digest(plain: object) -> str:
    """Return a checksum of a label map: the same where the same labels mean the same people.

    What the data sets are called does not count.

    Args:
        plain: What :meth:`LabelMap.to_plain` returned.
    """
    sets = cast("Sequence[Mapping[str, object]]", plain)
    return hashlib.sha256(json.dumps([one["pids"] for one in sets]).encode()).hexdigest()
