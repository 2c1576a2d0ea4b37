"""What protocols ask of the columns of a test set, besides pids and camids."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reid_core.errors import DataError
from reid_core.evaluation.embeddings import Labels
from reid_core.evaluation.protocols.base import JUNK_PID


def junk_excluded(query: Labels, gallery: Labels) -> NDArray[np.bool_]:
    """Return the mask of a rule that leaves out junk and nothing else.

    Args:
        query: Labels of B queries.
        gallery: Labels of G gallery entries.

    Returns:
        (B, G) bool, a new array.
    """
    return np.tile(gallery.pids == JUNK_PID, (len(query), 1))


def same_value(query: Labels, gallery: Labels, name: str) -> NDArray[np.bool_]:
    """Compare a column of queries with that of gallery entries, numbers or text.

    Args:
        query: Labels of B queries.
        gallery: Labels of G gallery entries.
        name: The column.

    Returns:
        (B, G) bool, True where the two values are equal.

    Raises:
        DataError: The test set has no such column, or more than one value a row in it.
    """
    columns = [labels.column(name) for labels in (query, gallery)]
    if any(column.ndim != 1 for column in columns):
        raise DataError(
            f"column {name} is {columns[1].shape}; expected one value a row, "
            "so that two rows can be compared"
        )
    # Codes, because text is compared letter by letter, for every pair.
    codes = np.unique(np.concatenate(columns), return_inverse=True)[1].reshape(-1)
    wanted, offered = codes[: len(query)], codes[len(query) :]
    mask: NDArray[np.bool_] = wanted[:, None] == offered
    return mask


def require_values(labels: Labels, name: str, expected: str, *, side: str, protocol: str) -> None:
    """Refuse a side of a test set whose column says something else than a benchmark needs.

    Args:
        labels: Labels of the side.
        name: The column.
        expected: The value that all rows must have.
        side: ``query`` or ``gallery``, for the message.
        protocol: The protocol's name, for the message.

    Raises:
        DataError: A row has another value, or there is no such column.
    """
    values, counts = np.unique(labels.column(name).astype(str), return_counts=True)
    found = dict(zip(values.tolist(), counts.tolist(), strict=True))
    found.pop(expected, None)
    if found:
        other = ", ".join(f"{count} are {value}" for value, count in found.items())
        raise DataError(
            f"protocol {protocol}: all {side} images must be {expected} (column {name}), and of "
            f"{len(labels)} {other}; choose the data set that the protocol belongs to, or another "
            "evaluate.protocol"
        )
