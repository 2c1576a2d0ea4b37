"""P×K sampling in which each data set has its fixed part of every batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reid_core.data.samplers.coverage import Share, coverage
from reid_core.data.samplers.groups import draw, require_instances, rows_by_label
from reid_core.errors import ConfigError, DataError, did_you_mean


class WeightedSampler:
    """P×K batches with so many identities from each data set as its weight says.

    In each batch the identities of a set are drawn anew, never one twice, and each with probability
    ``weight · images of the identity / images of the set``, so that inside a set all images have
    the same chance. (An identity whose probability would exceed 1 is in every batch.) Of an
    identity ``instances`` images are drawn, which repeat evenly where it has fewer.

    An epoch has as many batches as the images of the sets with a weight would fill.

    Args:
        labels: (N,) labels of the rows.
        sets: (N,) number of each row's data set, a position in ``set_names``.
        set_names: Names of the training sets.
        seed: Seed of every epoch.
        weights: Identities a batch from each training set, by its name; 0 leaves a set out.
        instances: K, images an identity.

    Raises:
        ConfigError: A set without a weight or a weight without a set, a negative weight, or fewer
            than 2 identities a batch.
        DataError: A set has fewer identities than its weight.

    Source: He et al., FastReID, 2020 (its SetReWeightSampler).
    """

    def __init__(
        self,
        *,
        labels: NDArray[np.int64],
        sets: NDArray[np.int64],
        set_names: Sequence[str],
        seed: int,
        weights: Mapping[str, int],
        instances: int = 4,
    ) -> None:
        require_instances(instances)
        _require_weights(weights, set_names)
        self.instances = instances
        self.identities = sum(weights.values())
        self._weights = dict(weights)
        rows = rows_by_label(labels)
        of_set = np.array([sets[one[0]] for one in rows])
        self._pools = [
            _Pool.of(name, [rows[i] for i in np.flatnonzero(of_set == number)], weights[name])
            for number, name in enumerate(set_names)
            if weights[name]
        ]
        self._num_images, self._num_identities = len(labels), len(rows)
        usable = sum(int(pool.counts.sum()) for pool in self._pools)
        # Images repeat where an identity has few, so even a small set gives a batch.
        self._length = max(1, usable // (self.identities * instances))
        self._seed = seed

    def __len__(self) -> int:
        return self._length

    def batches(self, epoch: int) -> Iterator[NDArray[np.int64]]:
        """Yield the batches of an epoch, each (P*K,), images of one identity side by side."""
        rng = np.random.default_rng(np.random.SeedSequence((self._seed, epoch)))
        for _ in range(self._length):
            chosen = [pool.rows[i] for pool in self._pools for i in pool.choose(rng)]
            # Mixed, so that a part of the batch has something of every set too.
            order = rng.permutation(len(chosen))
            yield np.concatenate([draw(chosen[i], self.instances, rng) for i in order])

    def summary(self) -> str:
        """Say what a batch holds of each set, and how much of the data an epoch sees."""
        parts = ", ".join(f"{name} {weight}" for name, weight in self._weights.items())
        identities, images = 0.0, 0.0
        for pool in self._pools:
            chance = pool.chances()
            of_image = chance * np.minimum(pool.counts, self.instances) / pool.counts
            identities += float((1 - (1 - chance) ** self._length).sum())
            images += float((pool.counts * (1 - (1 - of_image) ** self._length)).sum())
        drawn = self._length * self.identities * self.instances
        return (
            f"{self._length} batches of {self.identities} identities ({parts}) x {self.instances} "
            f"images: an epoch draws {drawn} from {self._num_images} images, with replacement, "
            + coverage(
                Share(images, self._num_images, "expected"),
                Share(identities, self._num_identities, "expected"),
            )
        )


@dataclass(frozen=True, eq=False)
class _Pool:
    """The identities of a set, of which each batch takes ``weight``.

    Args:
        rows: Rows of each identity.
        counts: (I,) how many those are.
        weight: Identities a batch, 1..I.
        is_certain: (I,) identities that are in every batch.
    """

    rows: Sequence[NDArray[np.int64]]
    counts: NDArray[np.int64]
    weight: int
    is_certain: NDArray[np.bool_]

    @classmethod
    def of(cls, name: str, rows: Sequence[NDArray[np.int64]], weight: int) -> _Pool:
        if len(rows) < weight:
            raise DataError(
                f"data.batch.weights asks for {weight} identities of {name} in each batch, the set "
                f"has {len(rows)}; set its weight to at most {len(rows)}"
            )
        counts = np.array([len(one) for one in rows], dtype=np.int64)
        return cls(rows, counts, weight, _certain(counts, weight))

    def chances(self) -> NDArray[np.float64]:
        """Return the probability of each identity to be in a batch, (I,), summing to the weight."""
        free = np.where(self.is_certain, 0, self.counts)
        left = self.weight - int(self.is_certain.sum())
        return np.where(self.is_certain, 1.0, free * (left / max(1, int(free.sum()))))

    def choose(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """Choose the identities of a batch, (weight,) positions."""
        certain, free = np.flatnonzero(self.is_certain), np.flatnonzero(~self.is_certain)
        left = self.weight - len(certain)
        if left == 0:
            return certain
        # Systematic sampling: points one stride apart, on a line where each identity, in random
        # order, has a length in proportion to its images and below the stride. Whole numbers keep
        # it exact: every identity has its probability, and none is met twice.
        order = rng.permutation(free)
        ends = np.cumsum(self.counts[order] * left)
        stride = int(self.counts[free].sum())
        points = int(rng.integers(stride)) + stride * np.arange(left)
        return np.concatenate([certain, order[np.searchsorted(ends, points, side="right")]])


def _certain(counts: NDArray[np.int64], weight: int) -> NDArray[np.bool_]:
    """Return which identities have a probability of 1, (I,).

    Taking them out raises the probability of the others, so it is done until it settles.
    """
    is_certain = np.zeros(len(counts), dtype=bool)
    while True:
        left = weight - int(is_certain.sum())
        is_over = ~is_certain & (counts * left >= counts[~is_certain].sum())
        if left == 0 or not is_over.any():
            return is_certain
        is_certain |= is_over


def _require_weights(weights: Mapping[str, int], set_names: Sequence[str]) -> None:
    for name, weight in weights.items():
        if name not in set_names:
            raise ConfigError(
                f"data.batch.weights: {name} is none of the training sets {', '.join(set_names)}"
                f"{did_you_mean(name, set_names)}"
            )
        if weight < 0:
            raise ConfigError(f"data.batch.weights: {name} is {weight}; expected at least 0")
    missing = [name for name in set_names if name not in weights]
    if missing:
        raise ConfigError(
            f"data.batch.weights has no entry for {', '.join(missing)}; give each training set the "
            "number of its identities in a batch, 0 to leave it out"
        )
    if sum(weights.values()) < 2:
        raise ConfigError(
            f"data.batch.weights add up to {sum(weights.values())} identities a batch; a metric "
            "loss needs at least 2 to have a negative"
        )
