"""The table of a data set: one row an image, one typed column a fact about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from reid_core.errors import DataError

Split = Literal["train", "query", "gallery"]
SPLITS: tuple[Split, ...] = ("train", "query", "gallery")

#: A column of identities or cameras: integers, or text as the source spells them.
IdArray = NDArray[np.int64] | NDArray[np.str_]

#: Kinds of numpy's dtypes.
_TEXT, _INTEGER = "U", "iu"


@dataclass(frozen=True, eq=False)
class Manifest:
    """A data set as columns of equal length N, in a fixed order.

    Rows are stored as arrays, not as a list of tuples, so that hundreds of thousands start in
    seconds and are shared with worker processes without being copied object by object.

    Args:
        name: The data set's name; identities of different names never collide.
        root: Folder that ``paths`` are relative to.
        paths: (N,) text, relative to ``root``, with forward slashes.
        pids: (N,) identities as the source names them, integers or text.
        camids: (N,) cameras as the source names them, integers or text.
        splits: (N,) text, each ``train``, ``query`` or ``gallery``.
        notes: Facts worth showing to the user, for example how many files were ignored.
        columns: Further facts by name, each (N, …).

    Raises:
        DataError: A column has another type, columns differ in length, or a split has another name.
    """

    name: str
    root: Path
    paths: NDArray[np.str_]
    pids: IdArray
    camids: IdArray
    splits: NDArray[np.str_]
    notes: tuple[str, ...] = ()
    columns: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._check_type("paths", self.paths, _TEXT, "text")
        self._check_type("pids", self.pids, _TEXT + _INTEGER, "text or integers")
        self._check_type("camids", self.camids, _TEXT + _INTEGER, "text or integers")
        self._check_type("splits", self.splits, _TEXT, "text")
        lengths = {
            "paths": len(self.paths),
            "pids": len(self.pids),
            "camids": len(self.camids),
            "splits": len(self.splits),
            **{name: len(column) for name, column in self.columns.items()},
        }
        if len(set(lengths.values())) != 1:
            raise DataError(f"data set {self.name}: columns differ in length: {lengths}")
        unknown = set(np.unique(self.splits).tolist()) - set(SPLITS)
        if unknown:
            raise DataError(
                f"data set {self.name}: unknown split {sorted(unknown)}; expected one of {SPLITS}"
            )

    def _check_type(self, column: str, values: object, kinds: str, expected: str) -> None:
        found = f"a {type(values).__name__}"
        if isinstance(values, np.ndarray):
            if values.ndim == 1 and (values.dtype.kind in kinds or len(values) == 0):
                return
            found = f"{values.shape} {values.dtype}"
        raise DataError(
            f"data set {self.name}: column {column} is {found}; expected a numpy array (N,) of "
            f"{expected}; text of dtype object becomes one by .astype(str)"
        )

    def __len__(self) -> int:
        return len(self.paths)

    def select(self, split: Split) -> Manifest:
        """Return the rows of one split, in their order."""
        return self.take(np.flatnonzero(self.splits == split))

    def take(self, rows: NDArray[np.intp]) -> Manifest:
        """Return the given rows, in the order given.

        Args:
            rows: (M,) row numbers.
        """
        return Manifest(
            name=self.name,
            root=self.root,
            paths=self.paths[rows],
            pids=self.pids[rows],
            camids=self.camids[rows],
            splits=self.splits[rows],
            notes=self.notes,
            columns={name: column[rows] for name, column in self.columns.items()},
        )

    def summary(self) -> str:
        """Describe the data set in one line: images and identities a split, and cameras."""
        parts = []
        for split in SPLITS:
            rows = self.splits == split
            if rows.any():
                parts.append(
                    f"{split} {int(rows.sum())} images of {len(np.unique(self.pids[rows]))} ids"
                )
        parts.append(f"{len(np.unique(self.camids))} cameras" if parts else "no images")
        return f"{self.name}: {', '.join(parts)}"
