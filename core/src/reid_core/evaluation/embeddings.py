"""The records that go into an evaluation: embeddings with their identities and cameras."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from reid_core.errors import DataError
from reid_core.evaluation.ids import IdColumn, as_ids

__all__ = ["Embeddings", "IdColumn", "Labels"]


class MissingColumnError(DataError):
    """A protocol reads a column that the test set does not have.

    Args:
        column: Its name.
        message: What to tell.
    """

    def __init__(self, column: str, message: str) -> None:
        super().__init__(message)
        self.column = column


@dataclass(frozen=True, eq=False)
class Labels:
    """What is known of each row besides its embedding; protocols read these.

    Args:
        pids: (N,) int64 identities.
        camids: (N,) int64 cameras.
        columns: Further columns by name, each (N, …), numbers or text: ``viewids``,
            ``modalities``, ``clothids``, …

    Raises:
        DataError: A column is not one-dimensional or not of integers, or the lengths differ.
    """

    pids: NDArray[np.int64]
    camids: NDArray[np.int64]
    columns: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "pids", as_ids("pids", self.pids))
        object.__setattr__(self, "camids", as_ids("camids", self.camids))
        if len(self.pids) != len(self.camids):
            raise DataError(
                f"labels: {len(self.pids)} pids but {len(self.camids)} camids; "
                "expected one of each a row"
            )
        for name, column in self.columns.items():
            if len(column) != len(self.pids):
                raise DataError(
                    f"labels: {len(self.pids)} pids but {len(column)} entries in column {name}; "
                    "expected one of each a row"
                )

    def __len__(self) -> int:
        return len(self.pids)

    def column(self, name: str) -> NDArray[np.generic]:
        """Return a further column, (N, …).

        Raises:
            DataError: There is none of that name.
        """
        if name not in self.columns:
            # The rows are numbered by the evaluation: nobody gave them as a column.
            given = ", ".join(one for one in self.columns if one != "rows")
            raise MissingColumnError(
                name,
                f"the protocol needs the column {name}, and the test set has "
                f"{given or 'no further columns'}; choose a data set that has "
                "it, or another evaluate.protocol",
            )
        return self.columns[name]

    def block(self, start: int, stop: int) -> Labels:
        """Return the rows from ``start`` up to, not including, ``stop``."""
        return self.take(slice(start, stop))

    def take(self, rows: NDArray[np.int64] | slice) -> Labels:
        """Return the given rows, in the order given, with all their columns."""
        return Labels(
            pids=self.pids[rows],
            camids=self.camids[rows],
            columns={name: column[rows] for name, column in self.columns.items()},
        )


@dataclass(frozen=True, eq=False)
class Embeddings:
    """Embeddings of one side of a retrieval, the query or the gallery.

    Args:
        features: (N, D) floating point, on any device; distances are computed in float32.
        pids: (N,) integer identities: array, tensor, or a list. Text is numbered by
            :func:`number_ids` first.
        camids: (N,) integer cameras, likewise.
        columns: Further columns by name, each (N, …), for protocols that read them.

    Raises:
        DataError: ``features`` is not a (N, D) floating point tensor, or a column does not have
            N integers.
    """

    features: Tensor
    pids: IdColumn
    camids: IdColumn
    columns: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.features, Tensor):
            raise DataError(
                f"embeddings: features is a {type(self.features).__name__}; "
                "expected a (N, D) tensor, for an array use torch.from_numpy"
            )
        if self.features.ndim != 2 or not self.features.is_floating_point():
            raise DataError(
                f"embeddings: features is {tuple(self.features.shape)} {self.features.dtype}; "
                "expected (N, D) floating point, one row an image"
            )
        if len(self.labels) != len(self.features):
            raise DataError(
                f"embeddings: {len(self.features)} rows of features but {len(self.labels)} pids; "
                "expected one pid and one camid a row"
            )

    def __len__(self) -> int:
        return int(self.features.shape[0])

    @cached_property
    def labels(self) -> Labels:
        """What is known besides the features, as arrays on the host."""
        return Labels(
            pids=as_ids("pids", self.pids),
            camids=as_ids("camids", self.camids),
            columns=self.columns,
        )
