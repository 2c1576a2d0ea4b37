"""CSV files, read in blocks: a million lines in about two seconds, and never all at once."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, NoReturn, cast

from reid_core.data.datasets.tables.csv_cells import (
    Cells,
    NotNumbersError,
    NumberCells,
    PathCells,
    TextCells,
)
from reid_core.data.datasets.tables.header import name_columns
from reid_core.data.datasets.tables.splits import SPLIT_COLUMNS
from reid_core.data.datasets.tables.table import Column, Table
from reid_core.data.manifest import TextArray
from reid_core.errors import ConfigError, DataError

if TYPE_CHECKING:
    from _csv import Reader

_DELIMITERS = (",", ";", "\t", "|")
_BLOCK = 2**14
#: How files begin that are taken for text by mistake.
_OTHER_FILES = {
    b"\xff\xfe": "in UTF-16",
    b"\xfe\xff": "in UTF-16",
    b"PK\x03\x04": "a workbook of Excel, or another zip file",
    b"\xd0\xcf\x11\xe0": "an old workbook of Excel",
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
}
#: Characters that a message shows of a line.
_SHOWN_BEFORE = 20
#: Columns that are never fractions.
_TEXT = frozenset({"pid", "camid", *SPLIT_COLUMNS})


def read_csv(
    path: Path, *, what: str, delimiter: str | None, columns: Mapping[str, str | None] | None
) -> Table:
    """Read a CSV file whose first line names the columns.

    Args:
        path: An existing file.
        what: The data set and the file, for messages.
        delimiter: What parts the cells; None takes what parts the first line.
        columns: What the file calls a column; see :func:`name_columns`.

    Raises:
        ConfigError: The delimiter is not one character.
        DataError: The file cannot be read, or a line has another number of cells than the first.
    """
    if delimiter is not None and len(delimiter) != 1:
        raise ConfigError(f"{what}: delimiter is {delimiter!r}; expected one character")
    source = _Source(path, what, delimiter or _delimiter_of(path, what))
    header, quoted = source.header()
    titles = name_columns(header, columns, what=what)
    places = {ours: header.index(theirs) for ours, theirs in titles.items()}
    as_text = {ours for ours, place in places.items() if place in quoted}
    read = None
    while read is None:
        read = _columns(source, len(header), places, as_text)
    paths = read.pop("path")
    return Table(what, cast("TextArray", paths), read, source.place, titles)


def _columns(
    source: _Source, width: int, places: Mapping[str, int], as_text: set[str]
) -> dict[str, Column] | None:
    """Return the columns; None after adding one to ``as_text`` that turned out to be text."""
    growing = {ours: _cells(ours, is_text=ours in as_text) for ours in places}
    for block in source.blocks(width):
        by_place = list(zip(*block, strict=True))
        for ours, place in places.items():
            try:
                growing[ours].add(by_place[place])
            except NotNumbersError:
                as_text.add(ours)
                return None
    columns = {}
    for ours, cells in growing.items():
        try:
            columns[ours] = cells.finish()
        except NotNumbersError:
            as_text.add(ours)
            return None
    return columns


def _cells(name: str, *, is_text: bool) -> Cells:
    if name == "path":
        return PathCells()
    return TextCells(is_text=is_text) if is_text or name in _TEXT else NumberCells()


@dataclass(frozen=True)
class _Source:
    path: Path
    what: str
    delimiter: str

    def header(self) -> tuple[list[str], set[int]]:
        """Return the names of the columns, and the places of those whose first value is quoted."""
        lines: list[str] = []
        with _opened(self.path, self.what) as file:
            reader = self._reader(_recorded(file, lines))
            header = self._take(reader, 1)
            if not header or not any(header[0]):
                raise DataError(f"{self.what}: line 1 is empty; expected the columns' names")
            record: list[list[str]] = [[]]
            while record and not any(record[0]):
                lines.clear()
                record = self._take(reader, 1)
        cell = re.compile(rf' *("(?:[^"]|"")*"|[^{re.escape(self.delimiter)}\r\n]*).?')
        cells = cell.finditer("".join(lines))
        quoted = {place for place, found in enumerate(cells) if found[1].startswith('"')}
        return [name.strip() for name in header[0]], quoted

    def blocks(self, width: int) -> Iterator[list[list[str]]]:
        """Yield the records below the first line, without empty ones.

        Raises:
            DataError: One has another number of cells.
        """
        before = 0
        with _opened(self.path, self.what) as file:
            reader = self._reader(file)
            self._take(reader, 1)
            while block := self._take(reader, _BLOCK):
                records = list(filter(any, block))
                if set(map(len, records)) - {width}:
                    self._fail_ragged(records, before, width)
                before += len(records)
                if records:
                    yield records

    def place(self, row: int) -> str:
        """Return the line in which a record begins."""
        with _opened(self.path, self.what) as file:
            reader = self._reader(file)
            next(reader)
            line = reader.line_num + 1
            for record in reader:
                if any(record):
                    if row == 0:
                        break
                    row -= 1
                line = reader.line_num + 1
        return f"line {line}"

    def _reader(self, lines: Iterator[str] | IO[str]) -> Reader:
        return csv.reader(lines, delimiter=self.delimiter, strict=True, skipinitialspace=True)

    def _take(self, reader: Reader, count: int) -> list[list[str]]:
        try:
            return list(islice(reader, count))
        except csv.Error as error:
            # The line of the record's begin is not known; it is not after the one that was read.
            place = f"{self.what}, line {reader.line_num}"
            raise DataError(f"{place}: {_explained(error)}") from error
        except UnicodeDecodeError as error:
            raise _not_utf8(self.path, self.what) from error

    def _fail_ragged(self, records: Sequence[list[str]], before: int, width: int) -> NoReturn:
        place, record = next((p, r) for p, r in enumerate(records) if len(r) != width)
        raise DataError(
            f"{self.what}, {self.place(before + place)}: {len(record)} values; expected {width}, "
            f"as in line 1; put a value that holds {self.delimiter!r} in quotes"
        )


def _delimiter_of(path: Path, what: str) -> str:
    with _opened(path, what) as file:
        try:
            first = file.readline()
        except UnicodeDecodeError as error:
            raise _not_utf8(path, what) from error
    return max(_DELIMITERS, key=first.count)


def _opened(path: Path, what: str) -> IO[str]:
    try:
        return path.open(encoding="utf-8-sig", newline="")
    except OSError as error:
        raise DataError(f"{what} cannot be opened: {error.strerror}") from error


def _recorded(lines: IO[str], into: list[str]) -> Iterator[str]:
    for line in lines:
        into.append(line)
        yield line


def _explained(error: csv.Error) -> str:
    """Return what is wrong, and where that comes from as a rule."""
    text = str(error)
    if "field larger than field limit" in text:
        limit = f"{csv.field_size_limit():,}"
        return (
            f"a value of more than {limit} characters: a quotation mark that is not closed, above "
            "this line perhaps, or a file that is no table of text"
        )
    if "unexpected end of data" in text:
        return 'the file ends inside of quotes; close the quotation mark, or double it: ""'
    return text


def _not_utf8(path: Path, what: str) -> DataError:
    """Say which line is not UTF-8, or what the file is instead."""
    with path.open("rb") as file:
        begin = file.read(4)
    for mark, kind in _OTHER_FILES.items():
        if begin.startswith(mark):
            return DataError(f"{what} is no table of text: it is {kind}; save it as 'CSV UTF-8'")
    place, seen = _first_wrong_byte(path)
    return DataError(f"{what}{place}: it is not UTF-8{seen}; save the table as 'CSV UTF-8'")


def _first_wrong_byte(path: Path) -> tuple[str, str]:
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                before = line[: error.start].decode("utf-8")[-_SHOWN_BEFORE:]
                return f", line {number}", f": the byte 0x{line[error.start]:02x} after {before!r}"
    return "", ""
