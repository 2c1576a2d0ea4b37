"""CUHK-SYSU: people cut out of street photographs and films, for training."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

import numpy as np

from reid_core.data.manifest import Count, Manifest
from reid_core.errors import ConfigError, DataError
from reid_core.paths import resolve_root
from reid_plugin_datasets.folders import find_folder, matching
from reid_plugin_datasets.matlab import read_cells
from reid_plugin_datasets.parameters import require_choice
from reid_plugin_datasets.rows import Row, manifest_of

_NESTED = ("cuhk_sysu", "CUHK-SYSU", "cuhksysu", "dataset", "CUHK-SYSU/dataset")
_CROPS = "cropped_images"
_NAME = re.compile(r"p(\d+)_s(\d+)")
#: File and variable of the people, by which of them are read.
_PEOPLE = {
    "all": ("annotation/Person.mat", "Person"),
    "train": ("annotation/test/train_test/Train.mat", "Train"),
}
_PHOTOGRAPHS = "Image/SSM"
_NOTES = ("no cameras are known", "for training only: its own test searches whole photographs")


def cuhk_sysu(root: str | Path, identities: Literal["all", "train"] = "all") -> Manifest:
    """Read CUHK-SYSU, for training only.

    Two forms are known. Cropped: ``cropped_images/p11422_s16929_1.jpg`` is person 11422 in
    photograph 16929. Original: ``annotation/Person.mat`` (or ``Train.mat``) lists the photographs
    in ``Image/SSM`` that show a person, with a box; such rows have the column ``boxes``. The
    cropped form is taken where both are there. The original's test searches for a person in whole
    photographs, which is another task, so there are no queries. Each photograph stands for itself:
    cameras are not known.

    Args:
        root: The folder with ``cropped_images``, or with ``annotation`` and ``Image``, or the one
            above. A relative path is also looked for under ``REID_DATASETS``.
        identities: ``train`` leaves out the people of the original test; the original form alone
            knows them.

    Returns:
        The manifest: files sorted, or in the order of the annotation.

    Raises:
        DataError: Neither form is there, or it is not as described.
        ConfigError: ``identities`` is another word, or ``train`` with cropped images.

    Source: Xiao et al., Joint Detection and Identification Feature Learning for Person Search,
        CVPR 2017.
    """
    require_choice(identities, tuple(_PEOPLE), name="identities", dataset="cuhk_sysu")
    base = resolve_root(root)
    for folder in (base, *(base / name for name in _NESTED)):
        if (folder / _CROPS).is_dir():
            return _cropped(folder, identities)
    file, variable = _PEOPLE[identities]
    try:
        folder = find_folder(
            root, dataset="cuhk_sysu", nested=_NESTED, expected=(file, _PHOTOGRAPHS)
        )
    except DataError as error:
        raise DataError(f"{error}; or to the one that holds {_CROPS}") from error
    return _annotated(folder, file, variable)


def _cropped(folder: Path, identities: str) -> Manifest:
    if identities != "all":
        raise ConfigError(
            f"data set cuhk_sysu: identities is {identities!r}, but {folder} holds cropped images, "
            "which do not say who is tested; expected all, or the original annotation"
        )
    part = matching(
        folder,
        _NAME,
        dataset="cuhk_sysu",
        example="p11422_s16929_1.jpg",
        inside=_CROPS,
        required=True,
    )
    return manifest_of(
        [Row(path, int(match[1])) for path, match in part.found],
        dataset="cuhk_sysu",
        root=folder,
        matches=[part],
        notes=_NOTES,
        expected={"train": Count(34574, 11934)},
        has_cameras=False,
    )


def _annotated(folder: Path, file: str, variable: str) -> Manifest:
    people = read_cells(folder / file, variable, dataset="cuhk_sysu")
    rows, boxes, number = [], [], 0
    try:
        for number, person in enumerate(_each(people), 1):  # noqa: B007 — for the message
            pid = int(str(person["idname"]).removeprefix("p"))
            for scene in _each(person["scene"]):
                rows.append(Row(f"{_PHOTOGRAPHS}/{scene['imname']}", pid))
                boxes.append(np.asarray(scene["idlocate"], dtype=np.float64).reshape(4))
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"data set cuhk_sysu: {folder / file}: person {max(number, 1)} is not as expected "
            f"({error!r}); expected idname, and a scene with imname and idlocate (x, y, width, "
            "height)"
        ) from error
    return manifest_of(
        rows,
        dataset="cuhk_sysu",
        root=folder,
        notes=(*_NOTES, f"people and boxes of {file}"),
        has_cameras=False,
        columns={"boxes": np.array(boxes).reshape(-1, 4)},
    )


def _each(structures: object) -> Iterator[Mapping[str, object]]:
    """Yield structures; a single one is not in a list."""
    for one in np.atleast_1d(np.asarray(structures, dtype=object)).ravel():
        if not isinstance(one, Mapping):
            raise TypeError(f"{type(one).__name__} is no structure")
        yield one
