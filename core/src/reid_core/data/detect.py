"""From a path to the reader that fits it: by the file's suffix, or by what the folder holds."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from reid_core.data.datasets.market1501 import FOLDERS, SUFFIXES
from reid_core.data.datasets.missing_places import describe_nearest, first_names
from reid_core.errors import DataError
from reid_core.wording import counted

#: Readers of a single file, by its suffix.
_BY_SUFFIX = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".json": "coco"}

#: Folders that Market-1501's archive unpacks to.
_NESTED = ("Market-1501-v15.09.15", "market1501", "market1501/Market-1501-v15.09.15")

#: So deep below an identity an image is looked for; a link may lead back up.
_MAX_DEPTH = 5

_MARKET_NAME = re.compile(r"(-1|[0-9]+)_c[0-9]+")

_LOOKED_FOR = (
    "a file that ends in .csv, .tsv, .parquet or .json; a folder with data.mdb (packed), with "
    f"{', '.join(FOLDERS.values())} (market1501), with gt/gt.txt, img1 or seqinfo.ini in it or in "
    "its folders (mot), or with a folder of images for each identity (folder)"
)


def detect(path: str | Path) -> tuple[str, dict[str, object]]:
    """Say which data set component reads a path.

    Args:
        path: A table, or a folder.

    Returns:
        The component's name and the parameters that lead it to the path.

    Raises:
        DataError: There is nothing at the path, or nothing there is known; the message lists what
            was looked for.
    """
    path = Path(path)
    if path.is_file():
        reader = _BY_SUFFIX.get(path.suffix.lower())
        if reader is None:
            raise DataError(_unknown(path, f"it is a file that ends in {path.suffix or 'nothing'}"))
        return reader, {"file": str(path)}
    if not path.is_dir():
        raise DataError(describe_missing_path(path))
    if (path / "data.mdb").is_file():
        return "packed", {"root": str(path)}
    if _is_market(path):
        return "market1501", {"root": str(path)}
    if _is_sequence(path):
        return "mot", {"root": str(path)}
    sequences = [folder for folder in _folders(path) if _holds_sequence(folder)]
    if sequences:
        _require_nothing_else(path, sequences)
        return "mot", {"root": str(path)}
    tables = _tables(path)
    if tables:
        raise DataError(_beside_a_table(path, tables))
    if any(map(_holds_image, _folders(path))):
        return "folder", {"root": str(path)}
    raise DataError(_unknown(path, _seen(path)))


def _is_market(path: Path) -> bool:
    """Say whether Market's folders are there; one folder an identity in them is another layout."""
    for root in (path, *(path / nested for nested in _NESTED)):
        present = [root / name for name in FOLDERS.values() if (root / name).is_dir()]
        # A folder query is found in other layouts too.
        if {folder.name for folder in present} - {FOLDERS["query"]}:
            return any(_images(folder) for folder in present) or not any(
                _holds_image(inner) for folder in present for inner in _folders(folder)
            )
    return False


def _is_sequence(folder: Path) -> bool:
    """Say whether a folder is a sequence, with ground truth or, as in a test part, without."""
    return (
        (folder / "gt" / "gt.txt").is_file()
        or (folder / "seqinfo.ini").is_file()
        or [inner.name for inner in _folders(folder) if _holds_image(inner)] == ["img1"]
    )


def _holds_sequence(folder: Path) -> bool:
    return _is_sequence(folder) or any(map(_is_sequence, _folders(folder)))


def _has_truth(folder: Path) -> bool:
    return (folder / "gt" / "gt.txt").is_file()


def _require_nothing_else(path: Path, sequences: list[Path]) -> None:
    """Refuse to choose among folders of sequences, or between sequences and other images.

    Args:
        path: The folder above.
        sequences: Those of its folders that are sequences, or hold some.
    """
    with_truth = [folder for folder in sequences if any(map(_has_truth, _folders(folder)))]
    if len(with_truth) > 1:
        raise DataError(
            f"{path} holds several folders of sequences with gt/gt.txt: "
            f"{', '.join(folder.name for folder in with_truth)}; name one of them, for example "
            f"{with_truth[0]}"
        )
    others = [folder for folder in _folders(path) if folder not in sequences]
    names = [folder.name for folder in others if _holds_image(folder)]
    names += [*_images(path), *(table.relative_to(path).as_posix() for table in _tables(path))]
    if names:
        raise DataError(
            f"{path}: it is not plain how this is read: it holds sequences of images with tracks, "
            f"{first_names(folder.name for folder in sequences)}, and beside them "
            f"{first_names(names)}; name what is meant, for example {sequences[0]}, or insist on "
            "the tracks by --dataset mot"
        )


def _tables(path: Path) -> list[Path]:
    """Return the tables in a folder, and in its folders that hold no image."""
    bare = [folder for folder in _folders(path) if not _holds_image(folder)]
    return [
        Path(entry.path)
        for folder in (path, *bare)
        for entry in sorted(_visible(folder), key=lambda entry: entry.name)
        if Path(entry.name).suffix.lower() in _BY_SUFFIX and entry.is_file()
    ]


def _beside_a_table(path: Path, tables: list[Path]) -> str:
    names = first_names(table.relative_to(path).as_posix() for table in tables)
    return (
        f"{path}: it is not plain how this is read: {names} may say who is on the images; name the "
        f"table, for example: reid-data split {shlex.quote(str(tables[0]))} -o mine.csv; or "
        "insist on the folders by --dataset folder"
    )


def _holds_image(folder: Path, depth: int = _MAX_DEPTH) -> bool:
    if any(_is_image(entry) for entry in _visible(folder)):
        return True
    return depth > 0 and any(_holds_image(inner, depth - 1) for inner in _folders(folder))


def _images(folder: Path) -> list[str]:
    return sorted(entry.name for entry in _visible(folder) if _is_image(entry))


def _folders(folder: Path) -> list[Path]:
    return sorted(Path(entry.path) for entry in _visible(folder) if entry.is_dir())


def _visible(folder: Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        yield from (entry for entry in entries if not entry.name.startswith("."))


def _is_image(entry: os.DirEntry[str]) -> bool:
    return Path(entry.name).suffix.lower() in SUFFIXES and entry.is_file()


def describe_missing_path(path: Path) -> str:
    """Say that there is nothing at a path, and what is near it."""
    place = "" if path.is_absolute() else ", nor one under REID_DATASETS"
    return f"there is no file or folder {path}{place}{describe_nearest(path)}"


def _seen(path: Path) -> str:
    images, folders = _images(path), _folders(path)
    if images:
        is_market = all(map(_MARKET_NAME.match, images))
        pattern = "{pid}_c{camid:d}*" if is_market else "{pid}_*"
        return (
            f"it holds {counted(len(images), 'image')} side by side, for example {images[0]}; say "
            "where the identity stands in their names: --dataset folder --param "
            f"'pattern={pattern}'"
        )
    if folders:
        names = ", ".join(folder.name for folder in folders[:8])
        return f"it holds the folders {names}, without an image in them"
    return "it holds neither images nor folders"


def _unknown(path: Path, found: str) -> str:
    return (
        f"{path}: it is not plain how this is read: {found}; looked for: {_LOOKED_FOR}; "
        "--dataset NAME names the reader ('reid-plugins list --kind dataset' shows them)"
    )
