"""What every sampler promises."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@runtime_checkable
class EpochSampler(Protocol):
    """Draws the batches of an epoch.

    A sampler is built with ``labels`` (N,) int64, ``camids`` (N,) int64, ``sets`` (N,) int64 (which
    of the training sets ``set_names`` a row is from) and ``seed``, where its signature names them,
    and with the parameters of ``data.batch``.
    """

    def __len__(self) -> int:
        """Return the number of batches, the same for every epoch."""
        ...

    def batches(self, epoch: int) -> Iterator[NDArray[np.int64]]:
        """Yield ``len(self)`` batches of rows (B,); a function of the seed and ``epoch`` alone."""
        ...

    def summary(self) -> str:
        """Say in one line what an epoch holds and what it leaves out."""
        ...
