"""The table of a data set: one row an image, one typed column a fact about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from reid_core.data.stores import FolderStore, ImageStore
from reid_core.errors import DataError

Split = Literal["train", "query", "gallery"]
SPLITS: tuple[Split, ...] = ("train", "query", "gallery")

#: A column of identities or cameras: integers, or text as the source spells them.
IdArray = NDArray[np.int64] | NDArray[np.str_]

#: A column of text whose rows take as much memory as they have letters.
TextArray: TypeAlias = np.ndarray[tuple[int, ...], np.dtypes.StringDType]

#: Kinds of numpy's dtypes: text of fixed and of any width, integers.
_TEXT, _INTEGER = "UT", "iu"


class Count(NamedTuple):
    """How much a split holds.

    Args:
        images: Number of images.
        identities: Number of identities among them; distractors that share one count as one.
    """

    images: int
    identities: int


@dataclass(frozen=True, eq=False)
class Manifest:
    """A data set as columns of equal length N, in a fixed order.

    Rows are stored as arrays, not as a list of tuples, so that a million of them start in seconds.

    Some columns have a meaning wherever they are read: ``viewids`` (N,) integers from 0, the side
    that is seen; ``attributes`` (N, A) of 0, 1 and -1 for not known; ``boxes`` (N, 4) x, y, width
    and height in pixels of the upright image, NaN for the whole of it; ``modalities`` (N,) text,
    ``rgb`` or ``infrared``; ``clothids`` (N,) the clothes worn; ``times`` (N,) seconds; ``sequences``
    (N,) the recording; ``tracklets`` (N,) images that belong together in it; ``frames`` (N,) their
    numbers; ``species`` (N,) text.

    Args:
        name: The data set's name; identities of different names never collide.
        root: Folder that ``paths`` are relative to.
        paths: (N,) text, relative to ``root``, with forward slashes; kept as text of any width.
        pids: (N,) identities as the source names them, integers or text.
        camids: (N,) cameras as the source names them, integers or text.
        splits: (N,) text, each ``train``, ``query`` or ``gallery``.
        notes: Facts worth showing to the user, for example how many files were ignored.
        columns: Further facts by name, each (N, …).
        has_cameras: False where the source does not say which camera took an image; ``camids`` are
            then 0, and retrieval is measured without regard to cameras.
        distractors: Identities in integers that stand for nobody, such as 0 in Market-1501's
            gallery; they are never trained on.
        expected: The counts that the authors of the data published, by split; what is found is
            compared with them.
        store: Where the images' bytes are; None is the files below ``root``.

    Raises:
        DataError: A column has another type, columns differ in length, or a split has another name.
    """

    name: str
    root: Path
    paths: NDArray[np.str_] | TextArray
    pids: IdArray
    camids: IdArray
    splits: NDArray[np.str_]
    notes: tuple[str, ...] = ()
    columns: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)
    has_cameras: bool = True
    distractors: tuple[int, ...] = ()
    expected: Mapping[str, Count] = field(default_factory=dict)
    store: ImageStore | None = None

    def __post_init__(self) -> None:
        self._check_type("paths", self.paths, _TEXT, "text")
        self._check_type("pids", self.pids, _TEXT + _INTEGER, "text or integers")
        self._check_type("camids", self.camids, _TEXT + _INTEGER, "text or integers")
        self._check_type("splits", self.splits, _TEXT, "text")
        object.__setattr__(self, "paths", text_column(self.paths))
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

    @cached_property
    def identities(self) -> IdArray:
        """The identities that occur, sorted."""
        return cast("IdArray", np.unique(self.pids))

    @cached_property
    def cameras(self) -> IdArray:
        """The cameras that occur, sorted; none where they are not known."""
        return cast("IdArray", np.unique(self.camids if self.has_cameras else self.camids[:0]))

    @property
    def images(self) -> ImageStore:
        """Where the images' bytes are."""
        return FolderStore(str(self.root)) if self.store is None else self.store

    def select(self, split: Split) -> Manifest:
        """Return the rows of one split, in their order."""
        is_chosen = self.splits == split
        return self if is_chosen.all() else self.take(np.flatnonzero(is_chosen))

    def take(self, rows: NDArray[np.intp]) -> Manifest:
        """Return the given rows, in the order given.

        Args:
            rows: (M,) row numbers.
        """
        return replace(
            self,
            paths=self.paths[rows],
            pids=self.pids[rows],
            camids=self.camids[rows],
            splits=self.splits[rows],
            columns={name: column[rows] for name, column in self.columns.items()},
        )

    def count(self, split: Split) -> Count:
        """Count the images and identities of a split."""
        is_chosen = self.splits == split
        return Count(int(is_chosen.sum()), len(np.unique(self.pids[is_chosen])))

    def summary(self) -> str:
        """Describe the data set in one line: images and identities a split, and cameras."""
        counts = {split: self.count(split) for split in SPLITS}
        parts = [
            f"{split} {count.images} images of {count.identities} ids"
            for split, count in counts.items()
            if count.images
        ]
        cameras = f"{len(self.cameras)} cameras" if self.has_cameras else "cameras not known"
        parts.append(cameras if parts else "no images")
        return f"{self.name}: {', '.join(parts)}"

    def __getstate__(self) -> dict[str, object]:
        # What can be computed again is not sent to other processes.
        return {one.name: getattr(self, one.name) for one in fields(self)}


def text_column(values: NDArray[np.str_] | TextArray | Iterable[str]) -> TextArray:
    """Return text as a column that takes as much memory as it has letters.

    Args:
        values: (N,) text.
    """
    if isinstance(values, np.ndarray) and values.dtype.kind == "T":
        return cast("TextArray", values)
    listed = values if isinstance(values, np.ndarray) else list(values)
    return cast("TextArray", np.array(listed, dtype=np.dtypes.StringDType()))


def no_cameras(num_rows: int) -> NDArray[np.int64]:
    """Return the column ``camids`` of a set that does not know its cameras, (N,) of 0."""
    return np.zeros(num_rows, dtype=np.int64)
