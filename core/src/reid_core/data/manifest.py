"""The table of a data set: one row an image, one typed column a fact about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from reid_core.data.distinct import distinct
from reid_core.data.stores import FolderStore, ImageStore
from reid_core.errors import DataError
from reid_core.wording import counted

Split = Literal["train", "query", "gallery"]
SPLITS: tuple[Split, ...] = ("train", "query", "gallery")

#: A column of text whose rows take as much memory as they have letters.
TextArray: TypeAlias = np.ndarray[tuple[int, ...], np.dtypes.StringDType]

#: A column of identities or cameras, integers or text as the source spells them.
IdArray: TypeAlias = NDArray[np.int64] | NDArray[np.str_] | TextArray

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
    Text in ``paths``, ``pids`` and ``camids`` is kept as text of any width (numpy's
    ``StringDType``), whatever it is given as.

    Some columns have a meaning wherever they are read: ``viewids`` (N,) integers from 0, the side
    that is seen; ``attributes`` (N, A) of 0, 1 and -1 for not known; ``boxes`` (N, 4) x, y, width
    and height in pixels of the upright image, NaN for the whole of it; ``modalities`` (N,) text,
    ``rgb`` or ``infrared``; ``clothids`` (N,) the clothes worn; ``times`` (N,) seconds;
    ``sequences`` (N,) the recording; ``tracklets`` (N,) images that belong together in it;
    ``frames`` (N,) their numbers; ``species`` (N,) text.

    Args:
        name: The data set's name; identities of different names never collide.
        root: Folder that ``paths`` are relative to.
        paths: (N,) text, relative to ``root``, with forward slashes.
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
        for name in ("paths", "pids", "camids"):
            values = getattr(self, name)
            if name == "paths" or values.dtype.kind == "U":
                object.__setattr__(self, name, text_column(values))
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

    @property
    def identities(self) -> IdArray:
        """The identities that occur, sorted."""
        return self._pids[0]

    @property
    def pid_codes(self) -> NDArray[np.int32]:
        """The position of each row's identity in ``identities``, (N,)."""
        return self._pids[1]

    @cached_property
    def _pids(self) -> tuple[IdArray, NDArray[np.int32]]:
        return distinct(self.pids)

    @cached_property
    def _camids(self) -> tuple[IdArray, NDArray[np.int32]]:
        return distinct(self.camids)

    @property
    def cameras(self) -> IdArray:
        """The cameras that occur, sorted; none where they are not known."""
        return self._camids[0] if self.has_cameras else self._camids[0][:0]

    @property
    def camid_codes(self) -> NDArray[np.int32]:
        """The position of each row's camera in ``cameras``, (N,); 0 where they are not known."""
        return self._camids[1]

    @property
    def images(self) -> ImageStore:
        """Where the images' bytes are."""
        return FolderStore(str(self.root)) if self.store is None else self.store

    def select(self, split: Split) -> Manifest:
        """Return the rows of one split, in their order."""
        is_chosen = self.splits == split
        if is_chosen.all():
            return self
        chosen = self.take(np.flatnonzero(is_chosen))
        # One text for all rows takes the memory of one.
        return replace(chosen, splits=np.broadcast_to(np.array(split), len(chosen)))

    def take(self, rows: NDArray[np.intp]) -> Manifest:
        """Return the given rows, in the order given.

        Args:
            rows: (M,) row numbers.
        """
        at = _as_slice(rows)
        return replace(
            self,
            paths=self.paths[at],
            pids=self.pids[at],
            camids=self.camids[at],
            splits=self.splits[at],
            columns={name: column[at] for name, column in self.columns.items()},
        )

    def count(self, split: Split) -> Count:
        """Count the images and identities of a split."""
        codes = self.pid_codes[self.splits == split]
        return Count(len(codes), int(np.count_nonzero(np.bincount(codes))))

    def summary(self) -> str:
        """Describe the data set in one line: images and identities a split, and cameras."""
        counts = {split: self.count(split) for split in SPLITS}
        parts = [
            f"{split} {counted(count.images, 'image')} of {counted(count.identities, 'id')}"
            for split, count in counts.items()
            if count.images
        ]
        number = counted(len(self.cameras), "camera")
        cameras = number if self.has_cameras else "cameras not known"
        parts.append(cameras if parts else "no images")
        return f"{self.name}: {', '.join(parts)}"

    def __getstate__(self) -> dict[str, object]:
        # What can be computed again is not sent to other processes.
        return {one.name: getattr(self, one.name) for one in fields(self)}


def _as_slice(rows: NDArray[np.intp]) -> NDArray[np.intp] | slice:
    """Return neighbouring rows as a slice, whose columns are views and take no memory."""
    is_range = len(rows) > 0 and rows[0] >= 0 and bool((np.diff(rows) == 1).all())
    return slice(int(rows[0]), int(rows[-1]) + 1) if is_range else rows


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
