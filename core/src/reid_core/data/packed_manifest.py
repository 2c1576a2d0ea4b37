"""The manifest of a packed set, in a file: every column with its type, and what else it says."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from reid_core.data.manifest import Count, Manifest, text_column
from reid_core.data.text_buffer import Texts, pack_texts, unpack_texts
from reid_core.errors import DataError

#: Its name in a packed folder.
MANIFEST_FILE = "manifest.npz"

_FORMAT = "reid-core packed manifest"
_VERSION = 1
_COLUMNS = ("paths", "pids", "camids", "splits")
_EXTRA = "columns/"


@dataclass(frozen=True)
class StoredManifest:
    """What a manifest file holds.

    Args:
        manifest: The manifest, its images below the file's folder.
        num_images: How many images were packed with it.
    """

    manifest: Manifest
    num_images: int


def write_manifest(path: Path, manifest: Manifest, *, num_images: int) -> None:
    """Write a manifest.

    Args:
        path: The file, ``….npz``.
        manifest: Its root and store are not kept.
        num_images: How many different images it names.

    Raises:
        DataError: A column has a type that a file cannot keep.
    """
    columns: dict[str, NDArray[np.generic]] = {name: getattr(manifest, name) for name in _COLUMNS}
    columns |= {_EXTRA + name: values for name, values in manifest.columns.items()}
    arrays: dict[str, NDArray[np.generic]] = {}
    kinds = {}
    for name, values in columns.items():
        kind = kinds[name] = values.dtype.kind
        if kind == "O":
            raise DataError(
                f"data set {manifest.name}: column {name.removeprefix(_EXTRA)} has dtype object, "
                "which no file keeps; make it numbers or text (astype(str))"
            )
        if kind in "UT":
            texts = cast("Texts", values.reshape(-1))
            arrays[f"{name}.text"], arrays[f"{name}.offsets"] = pack_texts([texts])
        else:
            arrays[name] = values
    facts = {
        "format": _FORMAT,
        "version": _VERSION,
        "num_images": num_images,
        "kinds": kinds,
        "shapes": {name: values.shape for name, values in columns.items()},
        "name": manifest.name,
        "notes": manifest.notes,
        "has_cameras": manifest.has_cameras,
        "distractors": manifest.distractors,
        "expected": manifest.expected,
    }
    arrays["facts"] = np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8)
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]  # its stub wants one dtype


def read_manifest(path: Path) -> StoredManifest:
    """Read a manifest that :func:`write_manifest` wrote.

    Raises:
        DataError: The file is damaged, of something else, or of a newer version.
        FileNotFoundError: There is none.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            return _read(path, file)
    except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(
            f"{path} cannot be read as the manifest of a packed set ({error}); pack the data anew "
            "by 'reid-data pack'"
        ) from error


def _read(path: Path, file: Mapping[str, NDArray[np.generic]]) -> StoredManifest:
    facts = json.loads(file["facts"].tobytes())
    if facts["format"] != _FORMAT or facts["version"] > _VERSION:
        raise ValueError(f"it is of {facts['format']} version {facts['version']}")
    columns = {name: _column(file, name, facts) for name in facts["kinds"]}
    manifest = Manifest(
        root=path.parent,
        name=facts["name"],
        notes=tuple(facts["notes"]),
        has_cameras=facts["has_cameras"],
        distractors=tuple(facts["distractors"]),
        expected={split: Count(*count) for split, count in facts["expected"].items()},
        columns={
            name.removeprefix(_EXTRA): values
            for name, values in columns.items()
            if name.startswith(_EXTRA)
        },
        **{name: columns[name] for name in _COLUMNS},  # type: ignore[arg-type]  # checked there
    )
    return StoredManifest(manifest, int(facts["num_images"]))


def _column(
    file: Mapping[str, NDArray[np.generic]], name: str, facts: Mapping[str, Mapping[str, object]]
) -> NDArray[np.generic]:
    kind = facts["kinds"][name]
    if kind not in ("U", "T"):
        return file[name]
    packed = cast("NDArray[np.uint8]", file[f"{name}.text"])
    texts = unpack_texts(packed, cast("NDArray[np.int64]", file[f"{name}.offsets"]))
    column = text_column(texts) if kind == "T" else np.array(texts, dtype=np.str_)
    return cast("NDArray[np.generic]", column).reshape(cast("list[int]", facts["shapes"][name]))
