"""The labels of all rows of several sets, as numbers that can be compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from reid_core.data.distinct import distinct
from reid_core.data.manifest import SPLITS, Manifest, text_column

#: Where images that look alike stand; the first that holds is what they are told as.
Place = Literal["train-and-test", "query-and-gallery", "other-identity", "same-identity"]
PLACES: tuple[Place, ...] = get_args(Place)


@dataclass(frozen=True, eq=False)
class RowLabels:
    """Labels of the rows of some sets, one set after the other.

    Args:
        manifests: The sets.
        starts: (S,) row that each set begins at.
        splits: (N,) uint8, position in ``SPLITS``.
        pids: (N,) int64, never the same in sets of different names.
    """

    manifests: tuple[Manifest, ...]
    starts: NDArray[np.int64]
    splits: NDArray[np.uint8]
    pids: NDArray[np.int64]

    @classmethod
    def of(cls, manifests: Sequence[Manifest]) -> RowLabels:
        """Number the labels of some sets."""
        sizes = [len(manifest) for manifest in manifests]
        starts = np.cumsum([0, *sizes[:-1]], dtype=np.int64)
        splits = np.zeros(sum(sizes), dtype=np.uint8)
        for manifest, start in zip(manifests, starts.tolist(), strict=True):
            rows = slice(start, start + len(manifest))
            for code, split in enumerate(SPLITS):
                splits[rows][manifest.splits == split] = code
        return cls(tuple(manifests), starts, splits, _numbered_apart(manifests))

    def at(self, row: int) -> tuple[Manifest, int]:
        """Return the set of a row, and the row in it."""
        position = int(np.searchsorted(self.starts, row, side="right")) - 1
        return self.manifests[position], row - int(self.starts[position])

    def place(self, rows: Sequence[int]) -> Place:
        """Say where rows that look alike stand."""
        splits = {SPLITS[self.splits[row]] for row in rows}
        if "train" in splits and len(splits) > 1:
            return "train-and-test"
        if len(splits) > 1:
            return "query-and-gallery"
        return "other-identity" if self.differ(rows) else "same-identity"

    def differ(self, rows: Sequence[int]) -> bool:
        """Say whether rows have more than one identity."""
        return len({int(self.pids[row]) for row in rows}) > 1

    def are_of_several_sets(self, rows: Sequence[int]) -> bool:
        """Say whether rows are of sets of more than one name."""
        return len({self.at(row)[0].name for row in rows}) > 1

    def describe(self, rows: Sequence[int]) -> str:
        """Describe rows that look alike: path, split and identity of the first few."""
        is_across_sets = self.are_of_several_sets(rows)
        texts = []
        for row in rows[:4]:
            manifest, local = self.at(row)
            of_set = f" of set {manifest.name}" if is_across_sets else ""
            texts.append(
                f"{manifest.paths[local]} ({manifest.splits[local]}, identity "
                f"{manifest.pids[local]}{of_set})"
            )
        return " = ".join(texts) + (f" and {len(rows) - 4} more" if len(rows) > 4 else "")


def _numbered_apart(manifests: Sequence[Manifest]) -> NDArray[np.int64]:
    """Number the identities of all rows (N,); those of one name are counted together."""
    pids = [np.empty(0, dtype=np.int64) for _ in manifests]
    offset = 0
    for name in dict.fromkeys(manifest.name for manifest in manifests):
        same = [at for at, manifest in enumerate(manifests) if manifest.name == name]
        columns = [manifests[at].pids for at in same]
        if len({column.dtype.kind for column in columns}) > 1:
            columns = [text_column(map(str, column.tolist())) for column in columns]
        known, codes = distinct(np.concatenate(columns))
        inverse = codes.astype(np.int64)
        cuts = np.cumsum([len(column) for column in columns])[:-1]
        for at, part in zip(same, np.split(inverse + offset, cuts), strict=True):
            pids[at] = part
        offset += len(known)
    return np.concatenate([np.empty(0, dtype=np.int64), *pids])
