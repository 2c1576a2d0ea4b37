"""From the annotations of a COCO file to the rows of a manifest."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reid_core.data.datasets.coco_file import CocoFile, Entry, value_of
from reid_core.data.datasets.split_names import SplitNames
from reid_core.data.datasets.tables.boxes import parse_box
from reid_core.data.datasets.tables.further import seconds_of
from reid_core.data.datasets.tables.rows import NoBox
from reid_core.data.manifest import Split
from reid_core.errors import DataError
from reid_core.wording import counted


@dataclass(frozen=True)
class CocoKeys:
    """Which keys say what; None where nothing does.

    Args:
        identity: Who it is, of annotations.
        camera: Which camera took an image.
        time: When.
        sequence: In which recording.
        frame: Its number there.
        split: What it is for.
    """

    identity: str
    camera: str | None
    time: str | None
    sequence: str | None
    frame: str | None
    split: str | None

    def of_images(self) -> dict[str, str]:
        """Return the keys of images by what they say."""
        named = vars(self).items()
        return {name: key for name, key in named if key is not None and name != "identity"}


@dataclass(frozen=True)
class CocoRow:
    """An annotation that becomes a row.

    Args:
        split: Its split.
        path: The image's file name, with forward slashes.
        number: Its place in the file's list.
        image: The image's entry.
        annotation: The annotation's entry.
        pid: The identity, as text.
        box: x, y, width and height, NaN for the whole image.
    """

    split: Split
    path: str
    number: int
    image: Entry
    annotation: Entry
    pid: str
    box: list[float]

    def value(self, key: str) -> object:
        """Return what the image says, or else the annotation; None for nothing."""
        found = value_of(self.image, key)
        return value_of(self.annotation, key) if found is None else found


def read_rows(
    content: CocoFile, keys: CocoKeys, names: SplitNames, no_box: NoBox, notes: Counter[str]
) -> list[CocoRow]:
    """Return the annotations that become rows, in the file's order.

    Args:
        content: The file.
        keys: Which keys say what.
        names: What names of splits stand for.
        no_box: What an annotation without a box is.
        notes: Counts what is left out, by the reason.

    Raises:
        DataError: An annotation is of no image, a box is none, or a split is not known.
    """
    meanings = _meanings(content, keys, names)
    rows: list[CocoRow] = []
    for number, annotation in enumerate(content.annotations):
        image = content.images.get(annotation["image_id"])
        if image is None:
            raise DataError(
                f"{content.what}: annotations[{number}] is of image {annotation['image_id']}, "
                "which is not in the list of images"
            )
        pid = _text(value_of(annotation, keys.identity))
        box = _box(annotation, number, content.what)
        meaning = meanings[_split_of(image, annotation, keys)] if keys.split else "train"
        reason = _reason_to_leave_out(annotation, pid, box, no_box)
        if meaning is None:
            reason = "as splits says"
        if reason or meaning is None:
            notes[f"annotations left out, {reason}"] += 1
            continue
        notes["annotations without a box: the whole image"] += bool(np.isnan(box[0]))
        path = str(image["file_name"]).replace("\\", "/")
        rows.append(CocoRow(meaning, path, number, image, annotation, pid, box))
    return rows


def _reason_to_leave_out(
    annotation: Entry, pid: str, box: list[float], no_box: NoBox
) -> str | None:
    if not pid:
        return "without an identity"
    if annotation.get("iscrowd") in (1, True):
        return "of crowds"
    if np.isnan(box[0]):
        return "without a box" if no_box == "drop" else None
    return "with a box of no size" if min(box[2:]) <= 0 else None


def _box(annotation: Entry, number: int, what: str) -> list[float]:
    given = annotation.get("bbox")
    box = parse_box("" if given is None else str(given))
    if box is None:
        raise DataError(
            f"{what}: annotations[{number}] has the bbox {given!r}; expected [x, y, width, height]"
        )
    return box


def _meanings(content: CocoFile, keys: CocoKeys, names: SplitNames) -> dict[str, Split | None]:
    if keys.split is None:
        return {}
    written = {
        _split_of(content.images.get(one["image_id"], {}), one, keys) for one in content.annotations
    }
    return names.meanings(written, place=f"key {keys.split}")


def _split_of(image: Entry, annotation: Entry, keys: CocoKeys) -> str:
    key = keys.split or ""
    found = value_of(image, key)
    return _text(value_of(annotation, key) if found is None else found)


def _text(value: object) -> str:
    return "" if value is None else str(value).strip()


def further_columns(
    content: CocoFile, rows: list[CocoRow], keys: CocoKeys
) -> dict[str, NDArray[np.generic]]:
    """Return the columns species, times, sequences and frames, where they are known.

    Raises:
        DataError: A time is no time, or a frame is missing or no integer.
    """
    columns: dict[str, NDArray[np.generic]] = {}
    if content.categories:
        species = [content.categories.get(row.annotation.get("category_id"), "") for row in rows]
        columns["species"] = np.array(species, dtype=np.str_)
    if keys.time:
        columns["times"] = np.array([_seconds(content, row, keys.time) for row in rows])
    if keys.sequence:
        columns["sequences"] = np.array([_text(row.value(keys.sequence)) for row in rows])
    if keys.frame:
        values = required_texts(content, rows, keys.frame, "frame")
        columns["frames"] = np.array([_integer(content, value, keys.frame) for value in values])
    return columns


def _seconds(content: CocoFile, row: CocoRow, key: str) -> float:
    text = _text(row.value(key))
    seconds = seconds_of(text)
    if seconds is None:
        raise DataError(
            f"{content.what}: image {row.path}: {key} is {text!r}; expected seconds, or a date "
            "such as 2024-05-31 17:45:00"
        )
    return seconds


def _integer(content: CocoFile, text: str, key: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise DataError(f"{content.what}: {key} is {text!r}; expected an integer") from None


def required_texts(content: CocoFile, rows: list[CocoRow], key: str, parameter: str) -> list[str]:
    """Return what each row says under a key, as text.

    Raises:
        DataError: One says nothing.
    """
    values = [_text(row.value(key)) for row in rows]
    if "" in values:
        row = rows[values.index("")]
        raise DataError(
            f"{content.what}: image {row.path} has no {key}, which {parameter} names; expected it "
            "for each image"
        )
    return values


def notes_of(notes: Counter[str]) -> list[str]:
    """Return the counts as lines."""
    lines = []
    for note, count in sorted(notes.items()):
        noun, _, rest = note.partition(" ")
        if count:
            lines.append(f"{counted(count, noun.removesuffix('s'), noun)} {rest}")
    return lines
