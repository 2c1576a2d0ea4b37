"""The exact ROC curve of verification, from counts of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from reid_core.evaluation.detail import Histogram
from reid_core.evaluation.matches import Distances

#: Points of a curve that is drawn.
CURVE_POINTS = 500


@dataclass(frozen=True)
class OperatingPoint:
    """What a threshold does.

    Args:
        threshold: Pairs at this distance or nearer are accepted.
        tpr: Share of the pairs of one identity that are accepted.
        fpr: Share of the pairs of two identities that are accepted.
    """

    threshold: float
    tpr: float
    fpr: float


@dataclass(frozen=True, eq=False)
class RocCounts:
    """The exact ROC curve: its corners, as counts of pairs.

    Args:
        thresholds: (T,) distinct distances of pairs of one identity, ascending.
        same_upto: (T,) int64 pairs of one identity at most that far.
        different_below: (T,) int64 pairs of two identities nearer than that.
        different_upto: (T,) int64 pairs of two identities at most that far.
        num_different: All pairs of two identities.
        lowest: Smallest distance of any pair.
        highest: Largest distance of any pair.
        histogram: How the distances of both are spread.
    """

    thresholds: Distances
    same_upto: NDArray[np.int64]
    different_below: NDArray[np.int64]
    different_upto: NDArray[np.int64]
    num_different: int
    lowest: float
    highest: float
    histogram: Histogram

    @property
    def num_same(self) -> int:
        """All pairs of one identity."""
        return int(self.same_upto[-1])

    def auc(self) -> float:
        """Return the chance that a pair of one identity is nearer than one of two; ties are half.

        Source: Hanley and McNeil, The meaning and use of the area under a ROC curve, 1982.
        """
        counts = np.diff(self.same_upto, prepend=0)
        farther = self.num_different - (self.different_below + self.different_upto) / 2
        return float((counts / self.num_same * farther).sum() / self.num_different)

    def at_most_fpr(self, fpr: float) -> OperatingPoint | None:
        """Return the point with the largest TPR whose FPR is not above a rate.

        Args:
            fpr: The rate, 0 to 1.

        Returns:
            The strictest threshold that reaches that TPR; None where no pair of one identity is
            accepted without exceeding the rate.
        """
        # A decimal such as 0.29 is a little less as float: 0.29 · 100 would allow 28 pairs.
        allowed = int(Fraction(repr(float(fpr))) * self.num_different)
        position = int(np.searchsorted(self.different_upto, allowed, side="right")) - 1
        return None if position < 0 else self._point(position)

    def at_least_tpr(self, tpr: float) -> OperatingPoint:
        """Return the strictest point whose TPR is not below a rate.

        Args:
            tpr: The rate, 0 to 1.
        """
        exact = Fraction(repr(float(tpr))) * self.num_same
        wanted = -(-exact.numerator // exact.denominator)
        return self._point(int(np.searchsorted(self.same_upto, max(wanted, 1), side="left")))

    def equal_error(self) -> OperatingPoint:
        """Return the point at which as large a share is falsely accepted as falsely rejected.

        It is where the straight lines between the corners of the curve meet FPR = 1 − TPR; its
        ``fpr`` is the equal error rate, which no threshold may reach where pairs are few. So the
        ``threshold`` is that of the corner whose own two error rates differ least, the strictest of
        equal ones.

        Source: ISO/IEC 19795-1 (equal error rate); the interpolation is the usual one.
        """
        fpr, tpr, thresholds = self._corners()
        surplus = fpr - (1 - tpr)
        after = int(np.argmax(surplus >= 0))
        low, high = surplus[after - 1], surplus[after]
        share = -low / (high - low)
        rate = fpr[after - 1] + share * (fpr[after] - fpr[after - 1])
        threshold = thresholds[np.argmin(np.abs(surplus))]
        return OperatingPoint(float(threshold), float(1 - rate), float(rate))

    def curve(self, num_points: int = CURVE_POINTS) -> tuple[list[float], list[float], list[float]]:
        """Return the curve for drawing: FPR, TPR and thresholds, strictest first.

        Args:
            num_points: Points at most, at least 4; corners are left out where there are more, so
                that both a linear and a logarithmic axis keep their shape.
        """
        fpr, tpr, thresholds = self._corners()
        kept = np.arange(len(fpr))
        if len(fpr) > num_points:
            third = num_points // 3
            first = max(1 / self.num_different, float(fpr[fpr > 0][0]))
            kept = np.unique(
                np.concatenate(
                    [
                        [0, len(fpr) - 1],
                        np.searchsorted(fpr, np.geomspace(first, 1, third - 1)),
                        np.searchsorted(fpr, np.linspace(0, 1, third - 1)),
                        np.searchsorted(tpr, np.linspace(0, 1, third)),
                    ]
                ).clip(max=len(fpr) - 1)
            )
        return fpr[kept].tolist(), tpr[kept].tolist(), thresholds[kept].tolist()

    def _point(self, position: int) -> OperatingPoint:
        return OperatingPoint(
            threshold=float(self.thresholds[position]),
            tpr=float(self.same_upto[position] / self.num_same),
            fpr=float(self.different_upto[position] / self.num_different),
        )

    def _corners(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return FPR, TPR and thresholds of all corners, from (0, 0) to (1, 1)."""
        at = self.thresholds.astype(np.float64)
        just_below = np.nextafter(self.thresholds, -np.inf, dtype=self.thresholds.dtype)
        same_below = np.concatenate([[0], self.same_upto[:-1]])
        between = np.stack([self.different_below, self.different_upto], axis=1).reshape(-1)
        fpr = np.concatenate([[0], between, [self.num_different]]) / self.num_different
        same = np.stack([same_below, self.same_upto], axis=1).reshape(-1)
        tpr = np.concatenate([[0], same, [self.num_same]]) / self.num_same
        thresholds = np.stack([just_below.astype(np.float64), at], axis=1).reshape(-1)
        start = np.nextafter(np.float32(self.lowest), np.float32(-np.inf))
        return fpr, tpr, np.concatenate([[float(start)], thresholds, [self.highest]])
