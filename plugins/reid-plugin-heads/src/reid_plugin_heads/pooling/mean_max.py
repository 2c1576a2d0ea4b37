"""Average pooling, maximum pooling, their sum, and the clipped average."""

from __future__ import annotations

from torch import Tensor

from reid_plugin_heads.pooling.base import Pooling, accumulation_dtype


class AvgPooling(Pooling):
    """Mean over the positions."""

    def reduce(self, values: Tensor) -> Tensor:
        """Return the mean over the last axis; shapes as in :meth:`Pooling.reduce`."""
        return values.mean(dim=-1, dtype=accumulation_dtype(values))


class MaxPooling(Pooling):
    """Maximum over the positions; its gradient goes to one position a channel."""

    def reduce(self, values: Tensor) -> Tensor:
        """Return the maximum over the last axis; shapes as in :meth:`Pooling.reduce`."""
        # Not amax: it would spread the gradient over ties.
        return values.max(dim=-1).values.to(accumulation_dtype(values))


class AvgMaxPooling(Pooling):
    """Mean plus maximum over the positions."""

    def reduce(self, values: Tensor) -> Tensor:
        """Return mean plus maximum of the last axis; shapes as in :meth:`Pooling.reduce`."""
        mean = values.mean(dim=-1, dtype=accumulation_dtype(values))
        return mean + values.max(dim=-1).values


class ClippedAvgPooling(Pooling):
    """Mean over the positions, then clipped to 0 … 1: ``min(max(mean x, 0), 1)``.

    A channel outside of that range has no gradient.

    Source: FastReID's ``ClipGlobalAvgPool``.
    """

    def reduce(self, values: Tensor) -> Tensor:
        """Return the clipped mean of the last axis; shapes as in :meth:`Pooling.reduce`."""
        return values.mean(dim=-1, dtype=accumulation_dtype(values)).clamp(0.0, 1.0)
