"""Embeddings of a test set with what their source calls identities, cameras and images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from reid_core.errors import DataError
from reid_core.evaluation.embeddings import Embeddings
from reid_core.evaluation.ids import number_ids
from reid_core.evaluation.protocols.base import DISTRACTORS


@dataclass(frozen=True, eq=False)
class Side:
    """Query or gallery as a file holds it, before identities are numbered.

    Args:
        features: (N, D) float32.
        pids: (N,) identities, integers or text.
        camids: (N,) cameras, integers or text; None where they are not known.
        paths: (N,) text, what each row was made of; None where that is not known.
        columns: Further columns by name, each (N, …).
    """

    features: NDArray[np.float32]
    pids: NDArray[np.generic]
    camids: NDArray[np.generic] | None = None
    paths: NDArray[np.str_] | None = None
    columns: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.features)


@dataclass(frozen=True, eq=False)
class EmbeddingSet:
    """A test set without images: embeddings, and what is known of each row.

    Args:
        name: What it is called in results.
        query: Embeddings of the Q queries; identities and cameras are integers.
        gallery: Embeddings of the G gallery entries.
        sides: Both as their source spells them, query first.
        has_cameras: Whether cameras are known; without, camids are 0.
    """

    name: str
    query: Embeddings
    gallery: Embeddings
    sides: tuple[Side, Side]
    has_cameras: bool

    @classmethod
    def of(cls, name: str, query: Side, gallery: Side) -> EmbeddingSet:
        """Number identities and cameras of both sides together.

        Integers keep their values. Text is numbered by :func:`number_ids`: from 1 in sorted order,
        but for ``-1``, which is junk, and ``0``, which is a distractor: rows of it get the column
        ``distractors`` where it is missing.

        Args:
            name: What the set is called in results.
            query: The queries.
            gallery: The gallery.

        Raises:
            DataError: One side names its identities by numbers and the other by text, only one
                knows its cameras, or a column has another length.
        """
        if (query.camids is None) != (gallery.camids is None):
            which, other = ("query", "gallery")[:: 1 if query.camids is not None else -1]
            raise DataError(
                f"{name}: cameras of the {which} are given, and none of the {other}; give both, or "
                "leave both out, which turns the camera filter off"
            )
        pids = _numbered(name, "pids", query.pids, gallery.pids)
        cameras = [np.zeros(len(side), dtype=np.int64) for side in (query, gallery)]
        if query.camids is not None and gallery.camids is not None:
            cameras = list(_numbered(name, "camids", query.camids, gallery.camids))
        made = (
            Embeddings(torch.from_numpy(side.features), pid, camid, _with_distractors(side, pid))
            for side, pid, camid in zip((query, gallery), pids, cameras, strict=True)
        )
        return cls(name, next(made), next(made), (query, gallery), query.camids is not None)

    def describe(self, row: int) -> dict[str, object]:
        """Say what is known of a row: path, pid and camid as the source spells them.

        Args:
            row: 0 to Q - 1 for queries, Q to Q + G - 1 for the gallery.
        """
        num_query = len(self.sides[0])
        side = self.sides[row >= num_query]
        at = row - num_query if row >= num_query else row
        return {
            "path": "" if side.paths is None else str(side.paths[at]),
            "pid": str(side.pids[at]),
            "camid": "" if side.camids is None else str(side.camids[at]),
        }


def _numbered(
    name: str, field: str, query: NDArray[np.generic], gallery: NDArray[np.generic]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    kinds = {_kind(name, field, values) for values in (query, gallery)}
    if len(kinds) > 1:
        raise DataError(
            f"{name}: {field} of the query are {_kind(name, field, query)} and of the gallery "
            f"{_kind(name, field, gallery)}; expected integers on both sides, or text on both"
        )
    if kinds == {"integers"}:
        return query.astype(np.int64), gallery.astype(np.int64)
    numbered = number_ids(query, gallery)
    return numbered[0], numbered[1]


def _kind(name: str, field: str, values: NDArray[np.generic]) -> str:
    if values.ndim == 1 and values.dtype.kind in "iu":
        return "integers"
    if values.ndim == 1 and values.dtype.kind in "UT":
        return "text"
    raise DataError(
        f"{name}: {field} is {values.shape} {values.dtype}; expected (N,) integers or text"
    )


def _with_distractors(side: Side, pids: NDArray[np.int64]) -> Mapping[str, NDArray[np.generic]]:
    is_text = side.pids.dtype.kind not in "iu"
    if DISTRACTORS in side.columns or not is_text:
        return side.columns
    return {**side.columns, DISTRACTORS: pids == 0}
