"""Data sets that ``reid-data pack`` has put into one file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from reid_core.data.manifest import Manifest
from reid_core.data.packed_manifest import MANIFEST_FILE, StoredManifest, read_manifest
from reid_core.data.packed_store import DATA_FILE, PackedStore, forget, require_lmdb
from reid_core.errors import DataError
from reid_core.paths import resolve_root


def packed(root: str | Path, title: str | None = None) -> Manifest:
    """Read a data set that ``reid-data pack`` has packed.

    Needs the package lmdb: ``pip install 'reid-core[lmdb]'``.

    Args:
        root: The folder with ``data.mdb`` and ``manifest.npz``. A relative path is also looked for
            under ``REID_DATASETS``.
        title: What the data is called in results; None is the name it had when it was packed.

    Returns:
        The manifest as it was packed: splits, identities, cameras and columns, in the same order.

    Raises:
        DataError: The folder is not there, is no packed set, or holds other images than its
            manifest names; or the package lmdb is not installed.
    """
    folder = resolve_root(root)
    _require_files(folder)
    require_lmdb()
    stored = read_manifest(folder / MANIFEST_FILE)
    # Absolute: worker processes may be started in another folder.
    store = PackedStore(folder.absolute().as_posix())
    forget(store.root)
    _require_whole(folder, stored, store)
    manifest = replace(stored.manifest, store=store)
    return manifest if title is None else replace(manifest, name=title)


def _require_files(folder: Path) -> None:
    if not folder.is_dir():
        parent = next((p for p in folder.parents if p.is_dir()), Path())
        place = "" if folder.is_absolute() else ", nor one under REID_DATASETS"
        raise DataError(
            f"data set packed: there is no folder {folder}{place} (the nearest that exists is "
            f"{parent.resolve()}); set root to a folder that 'reid-data pack' made"
        )
    missing = [name for name in (DATA_FILE, MANIFEST_FILE) if not (folder / name).is_file()]
    if missing:
        found = ", ".join(sorted(path.name for path in folder.iterdir())[:8]) or "nothing"
        raise DataError(
            f"data set packed: {folder} has no {' and no '.join(missing)}, so it is no packed set; "
            f"it holds {found}; set root to a folder that 'reid-data pack' made"
        )


def _require_whole(folder: Path, stored: StoredManifest, store: PackedStore) -> None:
    try:
        count = store.count()
    except OSError as error:
        raise DataError(
            f"data set packed: {error.strerror}; pack the data anew by 'reid-data pack'"
        ) from error
    if count != stored.num_images:
        raise DataError(
            f"data set packed: {folder / DATA_FILE} holds {count} images, and {MANIFEST_FILE} "
            f"beside it was written for {stored.num_images}: they do not belong together; pack the "
            "data anew by 'reid-data pack'"
        )
