"""LUPerson and other lists of images for pre-training."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from reid_core.data.manifest import Manifest, TextArray, no_cameras, text_column
from reid_core.errors import ConfigError, DataError
from reid_core.paths import resolve_root
from reid_plugin_datasets.parameters import require_choice

#: What the column ``pids`` holds.
Identity = Literal["image", "folder", "list"]

#: Lines that are held as Python text at once; all others are in columns already.
_CHUNK = 65_536
_LABELLED = re.compile(r"(.*[^\s,])\s*[,\s]\s*(\d+)", re.ASCII)


def luperson(
    root: str | Path, lists: str | list[str], identity: Identity = "image", title: str = "luperson"
) -> Manifest:
    """Read lists of person images for pre-training, as LUPerson, LUPerson-NL or your own are used.

    A list is a text file with an image a line: its path below ``root``, for example
    ``video_0001/000123.jpg``, and with ``identity: list`` a number after it, set off by a comma, a
    tab or a space. All images are training images, cameras are not known. The lists are read
    without looking at the images, of which there are millions: only the first of each list is
    looked for.

    LUPerson itself says nothing of identities. What counts as one is a choice:

    - ``image``: every image is an identity of its own, for methods that tell images apart;
    - ``folder``: the images of a folder are one, numbered from 0 in sorted order; in LUPerson's
      layout that is a video, not a person;
    - ``list``: the number at the end of each line, such as a pseudo-label or a tracklet.

    Args:
        root: The folder that the paths in the lists start from. A relative path is also looked for
            under ``REID_DATASETS``.
        lists: A text file or several, UTF-8; each is looked for in ``root`` and from the working
            directory.
        identity: What counts as an identity.
        title: What the data is called in results.

    Returns:
        The manifest, all ``train``, in the order of the lists.

    Raises:
        ConfigError: ``identity`` is another word, or ``lists`` is empty.
        DataError: A folder or list is not there, a line is not of that form, or a list's first
            image does not exist.

    Source: Fu et al., Unsupervised Pre-training for Person Re-identification, CVPR 2021.
    """
    require_choice(identity, get_args(Identity), name="identity", dataset="luperson")
    names = [lists] if isinstance(lists, str) else lists
    if not names:
        raise ConfigError("data set luperson: lists is empty; give one text file or more")
    folder = resolve_root(root)
    if not folder.is_dir():
        parent = next((p for p in folder.parents if p.is_dir()), Path())
        raise DataError(
            f"data set luperson: there is no folder {folder} (the nearest that exists is "
            f"{parent.resolve()}); set root to the folder that the lists' paths start from"
        )
    chunks: list[tuple[TextArray, NDArray[np.int64]]] = []
    folders: dict[str, int] = {}
    for name in names:
        chunks.extend(_read(folder, name, identity, folders))
    paths = cast("TextArray", np.concatenate([paths for paths, _ in chunks]))
    return Manifest(
        name=title,
        root=folder,
        paths=paths,
        pids=_pids(np.concatenate([labels for _, labels in chunks]), identity, folders),
        camids=no_cameras(len(paths)),
        splits=np.repeat(np.array(["train"]), len(paths)),
        notes=(f"for pre-training: {_MEANING[identity]}",),
        has_cameras=False,
    )


_MEANING: dict[Identity, str] = {
    "image": "no identities are known, every image counts as one",
    "folder": "no identities are known, the images of a folder count as one",
    "list": "identities are the numbers in the lists",
}


def _read(
    root: Path, name: str, identity: Identity, folders: dict[str, int]
) -> Iterator[tuple[TextArray, NDArray[np.int64]]]:
    """Give paths and labels of a list chunk by chunk; ``folders`` collects those that are new."""
    beside = root / name
    path = beside if beside.is_file() else resolve_root(name)
    is_first = True
    try:
        with path.open(encoding="utf-8-sig") as file:
            for paths, labels in _chunks(file, path, is_labelled=identity == "list"):
                if is_first and not (root / paths[0]).is_file():
                    raise DataError(_no_first(root, path, paths[0]))
                is_first = False
                if identity == "folder":
                    parents = (one.rpartition("/")[0] for one in paths)
                    labels = [folders.setdefault(parent, len(folders)) for parent in parents]
                yield text_column(paths), np.array(labels, dtype=np.int64)
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"data set luperson: the list {path} cannot be read: {error}; give text files, looked "
            f"for in {root} and from the working directory"
        ) from error
    if is_first:
        raise DataError(f"data set luperson: {path} holds no line")


def _chunks(
    file: IO[str], path: Path, *, is_labelled: bool
) -> Iterator[tuple[list[str], list[int]]]:
    """Give paths and the numbers after them, some thousand lines at a time, empty lines skipped."""
    number = 0
    while lines := list(islice(file, _CHUNK)):
        paths, labels = [], []
        for line in lines:
            number += 1
            stripped = line.strip()
            if not stripped:
                continue
            match = _LABELLED.fullmatch(stripped) if is_labelled else None
            if is_labelled and match is None:
                raise DataError(
                    f"data set luperson: {path}, line {number}: {stripped!r} does not end in a "
                    "number; expected an image and its identity, such as video_1/7.jpg,42, or set "
                    "identity to image or folder"
                )
            paths.append((match[1] if match else stripped).replace("\\", "/"))
            labels.append(int(match[2]) if match else 0)
        if paths:
            yield paths, labels


def _pids(
    labels: NDArray[np.int64], identity: Identity, folders: dict[str, int]
) -> NDArray[np.int64]:
    if identity == "image":
        return np.arange(len(labels), dtype=np.int64)
    if identity == "list":
        return labels
    # Numbers in sorted order, whatever list came first.
    ranks = np.empty(len(folders), dtype=np.int64)
    for rank, folder in enumerate(sorted(folders)):
        ranks[folders[folder]] = rank
    return ranks[labels]


def _no_first(root: Path, path: Path, image: str) -> str:
    return (
        f"data set luperson: there is no file {root / image}, the first image of {path}; set root "
        "to the folder that the paths in the list start from, or identity to list if each line "
        "ends in a number"
    )
