"""CSV files with a line of headings."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from reid_core.errors import DataError, did_you_mean

#: What may stand between the entries of a line; the headings tell which.
_DELIMITERS = ",;\t"


@dataclass(frozen=True)
class Table:
    """A table of text.

    Args:
        path: The file.
        dataset: The component's name, for messages.
        columns: The entries of each column, without spaces around them, by its heading.
        lines: Line of the file that each row ends in, from 1.
    """

    path: Path
    dataset: str
    columns: Mapping[str, list[str]]
    lines: list[int]

    def __len__(self) -> int:
        return len(self.lines)

    def column(self, name: str) -> list[str]:
        """Return the entries of a column.

        Raises:
            DataError: There is none of that heading.
        """
        if name in self.columns:
            return self.columns[name]
        headings = [heading for heading in self.columns if heading]
        raise DataError(
            f"data set {self.dataset}: {self.path} has no column {name}; it has "
            f"{', '.join(headings)}{did_you_mean(name, headings)}"
        )

    def wrong(self, row: int, name: str, expected: str) -> DataError:
        """Return the error for an entry that is not as expected.

        Args:
            row: Number of the row, from 0.
            name: The column.
            expected: What should stand there, in words.
        """
        return DataError(
            f"data set {self.dataset}: {self.path}, line {self.lines[row]}: column {name} is "
            f"{self.columns[name][row]!r}; expected {expected}"
        )


def read_table(path: Path, *, dataset: str) -> Table:
    """Read a CSV file: UTF-8, with commas, semicolons or tabs, and one line of headings.

    Args:
        path: The file.
        dataset: The component's name, for messages.

    Raises:
        DataError: The file cannot be read, holds no row, has a heading twice, or has a line of
            another length than the headings.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            first = file.readline()
            file.seek(0)
            reader = csv.reader(file, delimiter=max(_DELIMITERS, key=first.count))
            headings = [heading.strip() for heading in next(reader, [])]
            rows: list[list[str]] = []
            lines: list[int] = []
            for words in reader:
                if not any(words):
                    continue
                if len(words) != len(headings):
                    raise DataError(
                        f"data set {dataset}: {path}, line {reader.line_num}: {len(words)} entries "
                        f"below {len(headings)} headings; quote entries that hold a comma"
                    )
                rows.append([word.strip() for word in words])
                lines.append(reader.line_num)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"data set {dataset}: {path} cannot be read: {error}") from error
    twice = sorted({heading for heading in headings if heading and headings.count(heading) > 1})
    if twice:
        raise DataError(f"data set {dataset}: {path} has the column {twice[0]} twice")
    if not rows:
        raise DataError(f"data set {dataset}: {path} holds no row below its headings")
    columns = dict(zip(headings, map(list, zip(*rows, strict=True)), strict=True))
    return Table(path, dataset, columns, lines)
