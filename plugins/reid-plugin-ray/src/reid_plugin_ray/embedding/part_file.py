"""The file of a part: the layout of ``reid-eval --embeddings``, with the row of each image."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from reid_core.checkpoint.atomic import write_atomically
from reid_core.data.broken_images import BrokenImage
from reid_core.data.manifest import IdArray, Manifest
from reid_core.data.nobody import is_distractor
from reid_core.evaluation.protocols import DISTRACTORS

if TYPE_CHECKING:
    import pyarrow as pa

#: Columns that a part has whatever the data set's own columns are.
_OWN = ("row", "path", "split", "pid", "camid", "embedding", DISTRACTORS)


#: Key of a part's metadata that lists the images left out.
_BROKEN = b"reid.broken_images"


def part_table(
    manifest: Manifest,
    rows: NDArray[np.int64],
    paths: Sequence[str],
    embeddings: NDArray[np.float32],
) -> pa.Table:
    """Return a part as a table.

    Args:
        manifest: The n images of the part.
        rows: (n,) their rows in the whole data set.
        paths: Where each image is.
        embeddings: (n, D) float32.

    Returns:
        ``row``, ``path``, ``split``, ``pid``, ``camid`` where cameras are known, ``embedding`` as
        lists of D float32, ``distractors``, and the data set's own columns.
    """
    import pyarrow as pa

    columns: dict[str, pa.Array] = {
        "row": pa.array(rows, type=pa.int64()),
        "path": pa.array(list(paths), type=pa.string()),
        "split": _array(manifest.splits),
        "pid": _array(manifest.pids),
    }
    if manifest.has_cameras:
        columns["camid"] = _array(manifest.camids)
    columns["embedding"] = _array(embeddings)
    columns[DISTRACTORS] = _array(is_distractor(manifest))
    for name in sorted(set(manifest.columns) - set(_OWN)):
        columns[name] = _array(manifest.columns[name])
    return pa.table(columns)


def write_part(path: Path, table: pa.Table, broken: Sequence[BrokenImage] = ()) -> None:
    """Write a part; the file is whole or not there.

    Args:
        path: The file.
        table: What is in it.
        broken: Images of the part that could not be read and were left out.
    """
    import pyarrow.parquet as pq

    told = json.dumps([asdict(image) for image in broken], ensure_ascii=False)
    table = table.replace_schema_metadata({_BROKEN: told.encode()})
    write_atomically(path, lambda file: pq.write_table(table, file))


def broken_images_of(path: Path) -> list[dict[str, object]]:
    """Return the images that a part was made without, as plain records."""
    import pyarrow.parquet as pq

    metadata = pq.read_schema(path).metadata or {}
    return cast("list[dict[str, object]]", json.loads(metadata.get(_BROKEN, b"[]")))


def join_parts(parts: Sequence[Path], path: Path) -> int:
    """Write all parts into one file, one after the other; return its rows.

    Args:
        parts: The files, in order.
        path: The file to write.
    """
    import pyarrow.parquet as pq

    schema = pq.read_schema(parts[0]).remove_metadata()
    count = 0

    def write(file: object) -> None:
        nonlocal count
        with pq.ParquetWriter(file, schema) as writer:
            for part in parts:
                table = pq.read_table(part).cast(schema)
                writer.write_table(table)
                count += len(table)

    write_atomically(path, write)
    return count


def _array(values: NDArray[np.generic] | IdArray) -> pa.Array:
    import pyarrow as pa

    if values.dtype.kind in "UTO":
        texts = values.astype(str).tolist()
        return pa.array(texts, type=pa.string()) if values.ndim == 1 else pa.array(texts)
    if values.ndim == 1:
        return pa.array(np.ascontiguousarray(values))
    width = int(np.prod(values.shape[1:]))
    return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), width)
