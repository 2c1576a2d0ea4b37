"""Ground truth of MOTChallenge: one line a box, and the rules that say which are used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from reid_core.errors import ConfigError, DataError

#: Values of a line: from frame to height at least; flag, class and visibility may follow.
_FEWEST, _MOST = 6, 10
#: What stands for a class or visibility that the file does not tell.
UNKNOWN = -1
_NAMES = "frame,id,x,y,w,h,flag,class,visibility"


@dataclass(frozen=True, eq=False)
class Boxes:
    """Boxes of one sequence, M of them.

    Args:
        frames: (M,) int64, from 1.
        tracks: (M,) int64.
        boxes: (M, 4) float64 x, y, width and height; the first pixel's x is 0.
        flags: (M,) bool, whether the box is to be considered.
        classes: (M,) int64, :data:`UNKNOWN` where they are not told.
        visibility: (M,) float64 from 0 to 1, :data:`UNKNOWN` where it is not told.
        lines: (M,) int64, their lines in the file, from 1.
    """

    frames: NDArray[np.int64]
    tracks: NDArray[np.int64]
    boxes: NDArray[np.float64]
    flags: NDArray[np.bool_]
    classes: NDArray[np.int64]
    visibility: NDArray[np.float64]
    lines: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.frames)

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_]) -> Boxes:
        """Return the given boxes, in the order given."""
        return Boxes(*(column[rows] for column in vars(self).values()))


@dataclass(frozen=True)
class BoxRules:
    """Which boxes are used.

    Args:
        every: Of the boxes of a track that the other rules leave, the first and each n-th after it.
        min_visibility: Boxes that are seen less are left out; 0 to 1.
        min_height: Lower boxes are left out, in pixels.
        classes: Classes that are used; None uses all.

    Raises:
        ConfigError: A number is out of its range.
    """

    every: int
    min_visibility: float
    min_height: float
    classes: Sequence[int] | None

    def __post_init__(self) -> None:
        if self.every < 1:
            raise ConfigError(f"data set mot: every is {self.every}; expected 1 or more")
        if not 0 <= self.min_visibility <= 1:
            got = self.min_visibility
            raise ConfigError(f"data set mot: min_visibility is {got}; expected 0 to 1")
        if self.min_height < 0:
            raise ConfigError(f"data set mot: min_height is {self.min_height}; expected 0 or more")

    def masks(self, found: Boxes) -> dict[str, NDArray[np.bool_]]:
        """Return for each rule which boxes it leaves out, (M,) bool."""
        is_told = found.classes != UNKNOWN
        is_other = np.zeros(len(found), dtype=bool)
        if self.classes is not None:
            is_other = is_told & ~np.isin(found.classes, np.array(self.classes, dtype=np.int64))
        is_hidden = (found.visibility != UNKNOWN) & (found.visibility < self.min_visibility)
        return {
            "flag": ~found.flags,
            "class": is_other,
            "visibility": is_hidden,
            "height": (found.boxes[:, 2:] <= 0).any(axis=1) | (found.boxes[:, 3] < self.min_height),
        }

    def sample(self, found: Boxes) -> Boxes:
        """Return each n-th box of each track, sorted by track and frame."""
        ordered = found.take(np.lexsort((found.frames, found.tracks)))
        _, starts, counts = np.unique(ordered.tracks, return_index=True, return_counts=True)
        positions = np.arange(len(ordered)) - np.repeat(starts, counts)
        return ordered.take(positions % self.every == 0)


def read_ground_truth(path: Path, *, what: str, origin: int) -> Boxes:
    """Read a file ``gt.txt``.

    A line is ``frame,id,x,y,w,h``, and then flag, class and visibility as in MOT16 to MOT20. Of the
    ten values of MOT15 the last three are places in the world.

    Args:
        path: The file.
        what: The data set, for messages.
        origin: The x and y of the first pixel in the file.

    Raises:
        DataError: The file cannot be read, or a line is none.
    """
    what = f"{what}: {path}"
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"{what} cannot be opened: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{what} is not text: {error}") from error
    written = [(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not written:
        raise DataError(f"{what} is empty; expected lines of {_NAMES}")
    values = _values(written, what)
    lines = np.array([number for number, _ in written], dtype=np.int64)
    _require_sense(values, lines, what)
    width = values.shape[1]
    unknown = np.full(len(values), UNKNOWN)
    is_new = width in (8, 9)
    return Boxes(
        frames=values[:, 0].astype(np.int64),
        tracks=values[:, 1].astype(np.int64),
        boxes=values[:, 2:6] - np.array([origin, origin, 0, 0]),
        flags=values[:, 6] != 0 if width > 6 else np.ones(len(values), dtype=bool),
        classes=(values[:, 7] if is_new else unknown).astype(np.int64),
        visibility=(values[:, 8] if width == 9 else unknown).astype(np.float64),
        lines=lines,
    )


def _values(written: list[tuple[int, str]], what: str) -> NDArray[np.float64]:
    try:
        values = np.loadtxt([line for _, line in written], delimiter=",", ndmin=2)
    except ValueError:
        _fail_at_the_first(written, what)
    width = values.shape[1]
    if not _FEWEST <= width <= _MOST:
        _fail(what, written[0][0], f"it has {width} values; expected {_FEWEST} to {_MOST}")
    return values.astype(np.float64)


def _require_sense(values: NDArray[np.float64], lines: NDArray[np.int64], what: str) -> None:
    for wrong, message in (
        (~np.isfinite(values[:, :6]).all(axis=1), "a value is no number"),
        (values[:, 0] < 1, "the frame is below 1"),
        (values[:, 0] != np.rint(values[:, 0]), "the frame is no integer"),
        (values[:, 1] != np.rint(values[:, 1]), "the id is no integer"),
    ):
        if wrong.any():
            _fail(what, int(lines[int(np.argmax(wrong))]), message)


def _fail_at_the_first(written: list[tuple[int, str]], what: str) -> NoReturn:
    width = written[0][1].count(",") + 1
    for number, line in written:
        parts = line.split(",")
        if len(parts) != width:
            _fail(what, number, f"it has {len(parts)} values; expected {width}, as in the first")
        for part in parts:
            try:
                float(part)
            except ValueError:
                _fail(what, number, f"{part.strip()!r} is no number")
    raise DataError(f"{what} cannot be read; expected lines of {_NAMES}")


def _fail(what: str, line: int, message: str) -> NoReturn:
    raise DataError(f"{what}, line {line}: {message}; a line is {_NAMES}")
