"""Distances from queries to a gallery, in float32 and block by block."""

from __future__ import annotations

from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor

from reid_core.errors import DataError, UsageError
from reid_core.evaluation.precision import full_float32

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

    What depends on the gallery alone is computed once. ``cosine`` copies nothing; ``euclidean``
    holds the gallery once more, shifted so that a large common offset costs no digits.

    Args:
        gallery: (G, D) floating point.
        metric: ``cosine`` or ``euclidean``.

    Raises:
        UsageError: The metric has another name.
    """

    def __init__(self, gallery: Tensor, *, metric: DistanceName) -> None:
        if metric not in get_args(DistanceName):
            raise UsageError(
                f"distance {metric!r} is not known; expected one of {get_args(DistanceName)}"
            )
        self._metric = metric
        self._num_gallery = int(gallery.shape[0])
        self._gallery = _pad_rows(gallery.detach().float())
        if metric == "cosine":
            self._scale = _inverse_norm(self._gallery)
        else:
            self._origin = _origin(self._gallery[: self._num_gallery])
            self._shifted = self._gallery - self._origin
            self._square = self._shifted.square().sum(dim=1)

    def __call__(self, query: Tensor) -> Tensor:
        """Compute the distances of a block of queries.

        Args:
            query: (B, D) floating point.

        Returns:
            (B, G) float32 on the gallery's device.
        """
        num_query = int(query.shape[0])
        query = _pad_rows(query.detach().to(self._gallery.device).float())
        with torch.no_grad(), full_float32(query.device):
            block = self._cosine(query) if self._metric == "cosine" else self._euclidean(query)
        return block[:num_query, : self._num_gallery]

    def _cosine(self, query: Tensor) -> Tensor:
        # The query is scaled before the product, so that large features do not overflow in it.
        product = torch.mm(query * _inverse_norm(query)[:, None], self._gallery.T)
        one = torch.ones((), device=query.device)
        torch.addcmul(one, product, self._scale, value=-1, out=product)
        return torch.threshold_(product, COSINE_FLOOR, 0.0)

    def _euclidean(self, query: Tensor) -> Tensor:
        shifted = query - self._origin
        squares = shifted.square().sum(dim=1)[:, None] + self._square
        block = torch.addmm(squares, shifted, self._shifted.T, alpha=-2)
        near = torch.nonzero(block < squares * CANCELLATION)
        step = max(1, REFINE_VALUES // max(1, query.shape[1]))
        for start in range(0, len(near), step):
            row, column = near[start : start + step].unbind(dim=1)
            difference = query[row] - self._gallery[column]
            block[row, column] = difference.square_().sum(dim=1)
        return block.clamp_(min=0).sqrt_()


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


def _inverse_norm(features: Tensor) -> Tensor:
    norm: Tensor = torch.linalg.vector_norm(features, dim=1)
    return norm.clamp_(min=torch.finfo(norm.dtype).tiny).reciprocal_()


def _origin(gallery: Tensor) -> Tensor:
    # Any point amid the gallery will do. float64 on the host makes it exact for a constant
    # gallery, whose shifted features are then 0 and need no second computation.
    sample = gallery[:: max(1, len(gallery) // ORIGIN_ROWS)].cpu().double()
    origin = sample.mean(dim=0) if len(sample) else torch.zeros(gallery.shape[1])
    return origin.float().to(gallery.device)
