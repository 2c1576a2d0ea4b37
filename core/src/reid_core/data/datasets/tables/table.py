"""A table as it was read: columns of numbers, or of text in which each spelling is kept once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from reid_core.data.datasets.text_ids import ids_of
from reid_core.data.manifest import IdArray, TextArray, text_column
from reid_core.errors import DataError

#: Text wider than this, in bytes over all rows, is not stored at the width of the longest.
_MOST_BYTES = 2**26


@dataclass(frozen=True, eq=False)
class Coded:
    """A column of text.

    Args:
        names: The different values; an empty one is a value that is missing.
        codes: (N,) int32, which of them a row has.
        is_text: Whether the source says that it is text, whatever it looks like.
    """

    names: list[str]
    codes: NDArray[np.int32]
    is_text: bool = False

    def rows_of(self, name: str) -> NDArray[np.intp]:
        """Return the rows with a value, in order."""
        return np.flatnonzero(self.codes == self.names.index(name))

    def ids(self) -> IdArray:
        """Return the column as identities or cameras, (N,)."""
        return ids_of(self.names, self.codes, as_text=self.is_text)

    def text(self) -> NDArray[np.str_]:
        """Return the values, (N,) text, of any width where the longest is much too long."""
        names = np.array(self.names, dtype=np.str_)
        if names.itemsize * len(self.codes) <= _MOST_BYTES:
            return names[self.codes]
        return cast("NDArray[np.str_]", text_column(self.names)[self.codes])


Column = Coded | NDArray[np.generic]


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of one length, by their names in a manifest.

    Args:
        what: The data set and its file, for messages.
        paths: (N,) text, as written.
        columns: The others.
        place: Says where a row is in the file, such as ``line 12``.
        titles: What the file calls a column, where it is called otherwise.
    """

    what: str
    paths: TextArray
    columns: Mapping[str, Column]
    place: Callable[[int], str]
    titles: Mapping[str, str] = field(default_factory=dict)

    def fail(self, row: int, column: str, message: str) -> NoReturn:
        """Refuse a value.

        Args:
            row: Its row.
            column: The name of its column in a manifest.
            message: What is wrong and what to do.

        Raises:
            DataError: Always.
        """
        title = self.titles.get(column, column)
        raise DataError(f"{self.what}, {self.place(row)}, column {title}: {message}")
