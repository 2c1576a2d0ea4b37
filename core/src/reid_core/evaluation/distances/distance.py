"""Distances from queries to a gallery, in float32 and block by block."""

from __future__ import annotations

from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor

from reid_core.errors import DataError, UsageError
from reid_core.evaluation.distances.precision import full_float32

DistanceName = Literal["cosine", "euclidean"]

#: Cosine distances up to this are 0: the product of two equal unit vectors of 2,048 float32
#: values was measured to miss 1 by up to 4.8e-7, so what is below tells nothing.
COSINE_FLOOR = 1e-6
#: Squared euclidean distances below this share of the two squared norms are computed again from
#: the differences, because the expanded square has lost their digits.
CANCELLATION = 1e-4
#: Rows that a matrix product is padded to. Narrower products take other kernels, which round
#: differently: equal vectors would get unequal distances, and results depend on the block size.
MIN_PRODUCT_ROWS = 32
#: Values that one step of the second computation holds, 16 MB of float32.
REFINE_VALUES = 2**22
#: Pairs that are searched for near ones together: where all are copies, 16 MB of int64 indices.
NEAR_PAIRS = 2**20
#: A changed copy of the gallery (float32, shifted) up to this size is kept, 128 MiB.
HELD_BYTES = 2**27
#: Values of a larger gallery that are changed at a time, 16 MB of float32. Measured at 82,161 rows
#: of 2,048 values: converting float16 takes a tenth of the product with 64 queries.
PIECE_VALUES = 2**22
#: Rows shorter than this are scaled before they are squared: squares of 1e-19 underflow.
SHORT_NORM = 1e-15
#: Rows whose mean serves as the origin of euclidean distances.
ORIGIN_ROWS = 1024


def pairwise_distance(query: Tensor, gallery: Tensor, metric: DistanceName) -> Tensor:
    """Compute the distance of every query to every gallery item.

    ``cosine`` is 1 − cos of the angle, in [0, 2]; distances up to 1e-6 are 0, and a zero vector is
    at distance 1 from everything. ``euclidean`` is the true distance (with the root) of the
    features as given; equal vectors are at distance 0 exactly, and others are right to 0.2 % or
    better, also where the distance is tiny beside the features. The arithmetic is float32 even
    under autocast, no gradient is kept, and features that are not finite give NaN.

    Args:
        query: (Q, D) floating point.
        gallery: (G, D) floating point.
        metric: ``cosine`` or ``euclidean``.

    Returns:
        (Q, G) float32 on the gallery's device.

    Raises:
        DataError: The features are not two tables of equal width.
        UsageError: The metric has another name.

    Source: original.
    """
    check_same_width(query, gallery)
    return GalleryDistance(gallery, metric=metric)(query)


class GalleryDistance:
    """Distances to one gallery, for blocks of queries.

    What depends on the gallery alone is computed once. ``cosine`` of float32 copies nothing.
    Half precision is converted, and ``euclidean`` shifts the gallery, so that a large common
    offset costs no digits: the result is held where it is small, and otherwise made anew for each
    block of queries, some rows at a time. So a gallery that is a memory map stays one.

    Args:
        gallery: (G, D) floating point.
        metric: ``cosine`` or ``euclidean``.
        origin: (D,) float32, the point that ``euclidean`` shifts features by; None takes the
            middle of the gallery. Distances to two tables agree to the last digit only where both
            have one origin.

    Raises:
        UsageError: The metric has another name.
    """

    def __init__(
        self, gallery: Tensor, *, metric: DistanceName, origin: Tensor | None = None
    ) -> None:
        if metric not in get_args(DistanceName):
            raise UsageError(
                f"distance {metric!r} is not known; expected one of {get_args(DistanceName)}"
            )
        self._metric = metric
        #: G.
        self.num_gallery = int(gallery.shape[0])
        self._given = gallery.detach()
        if metric == "euclidean" and origin is None:
            origin = _origin(self._given)
        self._origin = origin if metric == "euclidean" else None
        self._held: Tensor | None = None
        is_ready = self._origin is None and gallery.dtype == torch.float32
        is_small = 4 * gallery.numel() <= HELD_BYTES
        if is_ready or is_small:
            self._held = self._compared(0, self.num_gallery)
        measure = _inverse_norm if metric == "cosine" else _square
        parts = [measure(self._compared(*bounds)) for bounds in self._bounds(0, self.num_gallery)]
        self._of_row = torch.cat(parts) if parts else gallery.new_zeros(0, dtype=torch.float32)

    @property
    def origin(self) -> Tensor | None:
        """The point that ``euclidean`` shifts features by, (D,) float32; None for ``cosine``."""
        return self._origin

    def __call__(self, query: Tensor) -> Tensor:
        """Compute the distances of a block of queries.

        Args:
            query: (B, D) floating point.

        Returns:
            (B, G) float32 on the gallery's device.
        """
        return self.to_rows(query, 0, self.num_gallery)

    def to_rows(self, query: Tensor, start: int, stop: int) -> Tensor:
        """Compute the distances of a block of queries to part of the gallery.

        Args:
            query: (B, D) floating point.
            start: First row of the gallery.
            stop: Row after the last.

        Returns:
            (B, stop - start) float32 on the gallery's device.
        """
        num_query = int(query.shape[0])
        query = _pad_rows(query.detach().to(self._given.device).float())
        with torch.no_grad(), full_float32(query.device):
            bounds = self._bounds(start, stop)
            if len(bounds) == 1:
                return self._part(query, start, stop)[:num_query]
            block = query.new_empty(num_query, stop - start)
            for first, last in bounds:
                part = self._part(query, first, last)
                block[:, first - start : last - start] = part[:num_query]
        return block

    def _bounds(self, start: int, stop: int) -> list[tuple[int, int]]:
        if self._held is not None:
            return [(start, stop)]
        step = max(MIN_PRODUCT_ROWS, PIECE_VALUES // max(1, int(self._given.shape[1])))
        return [(first, min(first + step, stop)) for first in range(start, stop, step)]

    def _compared(self, start: int, stop: int) -> Tensor:
        """Return rows of the gallery as they go into the product."""
        if self._held is not None:
            return self._held[start:stop]
        rows = self._given[start:stop].float()
        return rows if self._origin is None else rows - self._origin

    def _part(self, query: Tensor, start: int, stop: int) -> Tensor:
        gallery = _pad_rows(self._compared(start, stop))
        of_row = self._of_row[start:stop]
        of_row = F.pad(of_row, (0, len(gallery) - len(of_row)))
        if self._metric == "cosine":
            block = _cosine(query, gallery, of_row)
        else:
            block = self._euclidean(query, gallery, of_row, start, stop)
        return block[:, : stop - start]

    def _euclidean(
        self, query: Tensor, shifted_gallery: Tensor, square: Tensor, start: int, stop: int
    ) -> Tensor:
        assert self._origin is not None
        shifted = query - self._origin
        squares = _square(shifted)[:, None] + square
        block = torch.addmm(squares, shifted, shifted_gallery.T, alpha=-2)
        is_near = block[:, : stop - start] < (squares * CANCELLATION)[:, : stop - start]
        num_rows = max(1, NEAR_PAIRS // max(1, stop - start))
        for top in range(0, len(block), num_rows):
            near = torch.nonzero(is_near[top : top + num_rows])
            near[:, 0] += top
            self._refine(block, query, near, start)
        return block.clamp_(min=0).sqrt_()

    def _refine(self, block: Tensor, query: Tensor, near: Tensor, start: int) -> None:
        """Compute squared distances of some pairs again, in place, from the differences."""
        step = max(1, REFINE_VALUES // max(1, query.shape[1]))
        for first in range(0, len(near), step):
            row, column = near[first : first + step].unbind(dim=1)
            difference = query[row] - self._given[start + column].float()
            block[row, column] = difference.square_().sum(dim=1)


def check_same_width(query: Tensor, gallery: Tensor) -> None:
    """Check that query and gallery features can be compared.

    Args:
        query: (Q, D) features.
        gallery: (G, D) features.

    Raises:
        DataError: They are not two tables of equal width.
    """
    if query.ndim != 2 or gallery.ndim != 2 or query.shape[1] != gallery.shape[1]:
        raise DataError(
            f"cannot compare query features {tuple(query.shape)} with gallery features "
            f"{tuple(gallery.shape)}; expected (Q, D) and (G, D) with one D: "
            "extract both with the same model"
        )


def _pad_rows(features: Tensor) -> Tensor:
    missing = MIN_PRODUCT_ROWS - int(features.shape[0])
    return F.pad(features, (0, 0, 0, missing)) if missing > 0 else features


def _cosine(query: Tensor, gallery: Tensor, scale: Tensor) -> Tensor:
    # The query is scaled before the product, so that large features do not overflow in it.
    product = torch.mm(query * _inverse_norm(query)[:, None], gallery.T)
    one = torch.ones((), device=query.device)
    torch.addcmul(one, product, scale, value=-1, out=product)
    return torch.threshold_(product, COSINE_FLOOR, 0.0)


def row_norms(features: Tensor) -> Tensor:
    """Compute the lengths of rows, also of those whose squares underflow.

    Args:
        features: (N, D) float32.

    Returns:
        (N,) float32, at least the smallest normal number, so that they can be divided by.
    """
    norms: Tensor = torch.linalg.vector_norm(features, dim=1)
    tiny = torch.finfo(norms.dtype).tiny
    short = torch.nonzero(norms < SHORT_NORM).flatten()
    if len(short) and features.shape[1]:
        rows = features[short]
        largest = rows.abs().amax(dim=1).clamp_(min=tiny)
        norms[short] = torch.linalg.vector_norm(rows / largest[:, None], dim=1) * largest
    return norms.clamp_(min=tiny)


def unit_rows(features: Tensor) -> Tensor:
    """Scale vectors to length 1, also those whose squares underflow; zeros stay zeros.

    Args:
        features: (..., D) float32.

    Returns:
        (..., D) float32.
    """
    flat = features.reshape(-1, features.shape[-1])
    return (flat / row_norms(flat)[:, None]).view(features.shape)


def _inverse_norm(features: Tensor) -> Tensor:
    return row_norms(features).reciprocal_()


def _square(features: Tensor) -> Tensor:
    return features.square().sum(dim=1)


def _origin(gallery: Tensor) -> Tensor:
    # Any point amid the gallery will do. float64 on the host makes it exact for a constant
    # gallery, whose shifted features are then 0 and need no second computation.
    sample = gallery[:: max(1, len(gallery) // ORIGIN_ROWS)].cpu().double()
    origin = sample.mean(dim=0) if len(sample) else torch.zeros(gallery.shape[1])
    return origin.float().to(gallery.device)
