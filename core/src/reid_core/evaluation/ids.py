"""Identities as they come (integers, text, tensors of one value) as columns of integers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from reid_core.errors import DataError

#: Identities or cameras, one a row: an integer array on the host, an integer tensor, or a sequence
#: of integers or of tensors of one integer each.
IdColumn = NDArray[np.int64] | Tensor | Sequence[int] | Sequence[Tensor]


def as_ids(field: str, values: IdColumn) -> NDArray[np.int64]:
    """Make a column of integers.

    Args:
        field: What it holds, for the message.
        values: (N,) integers, or (N, 1).

    Returns:
        (N,) int64 on the host.

    Raises:
        DataError: It is of another shape, or not of integers.
    """
    column = _array(field, values)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.ndim == 1 and not len(column):
        return np.empty(0, dtype=np.int64)
    if column.ndim != 1 or column.dtype.kind not in "iu":
        raise DataError(
            f"embeddings: {field} is {column.shape} {column.dtype}; expected (N,) integers; "
            "for text, number query and gallery together first: query_ids, gallery_ids = "
            "reid_core.evaluation.number_ids(query_ids, gallery_ids)"
        )
    return column.astype(np.int64, copy=False)


def number_ids(*columns: Sequence[str] | NDArray[np.generic]) -> tuple[NDArray[np.int64], ...]:
    """Number identities or cameras that are text, those of all columns together.

    Text is numbered from 1 in sorted order, so that the same names give the same numbers whatever
    their order. ``-1`` and ``0`` keep the meaning that protocols give them: junk and distractor.

    Args:
        *columns: (N,) names each, of the query and of the gallery, say.

    Returns:
        (N,) int64 for each column.
    """
    texts = [np.asarray([str(value) for value in column], dtype=np.str_) for column in columns]
    joined = np.concatenate([*texts, np.empty(0, dtype=np.str_)])
    kept = np.isin(joined, ("-1", "0"))
    codes = np.zeros(len(joined), dtype=np.int64)
    codes[~kept] = np.unique(joined[~kept], return_inverse=True)[1] + 1
    codes[joined == "-1"] = -1
    return tuple(np.split(codes, np.cumsum([len(text) for text in texts])[:-1]))


def _array(field: str, values: IdColumn) -> NDArray[np.generic]:
    if isinstance(values, Tensor):
        return np.asarray(values.detach().cpu().numpy())
    if isinstance(values, np.ndarray):
        return values
    plain: list[object] = []
    for row, one in enumerate(values):
        value = np.asarray(one.detach().cpu().numpy() if isinstance(one, Tensor) else one)
        if value.size != 1:
            raise DataError(
                f"embeddings: row {row} of {field} is {value.shape} {value.dtype}; expected one "
                "integer a row"
            )
        plain.append(value.item())
    return np.asarray(plain)
