"""P×K sampling: P identities a batch, K images of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from reid_core.data.samplers.all_images import choose, least_seen, max_batches
from reid_core.data.samplers.coverage import Certainty, Share, coverage
from reid_core.data.samplers.groups import (
    draw,
    identities_per_batch,
    rows_by_label,
    too_few_identities,
)
from reid_core.errors import ConfigError, DataError, did_you_mean

Rule = Literal["all_images", "one_group"]


class IdentitySampler:
    """Batches of ``identities`` different identities with ``instances`` images each.

    What an epoch holds is a matter of the rule:

    * ``all_images``: each identity's images are shuffled and cut into groups of ``instances``; what
      is left over is dropped for this epoch, but an identity with fewer images than ``instances``
      forms one group in which images repeat. A batch takes groups of different identities. An epoch
      has the largest number m of batches that this allows, for which
      ``m * identities <= sum(min(groups of an identity, m))``.
    * ``one_group``: each identity gives one group of ``instances`` random images an epoch; the
      identities that do not fill a batch are left out, other ones each time.

    Either way an epoch is finite and its length exact.

    Args:
        labels: (N,) labels of the rows.
        seed: Seed of every epoch.
        identities: P, identities a batch. Give this or ``size``.
        instances: K, images an identity.
        size: P×K, images a batch.
        rule: ``"all_images"`` or ``"one_group"``.

    Raises:
        ConfigError: Neither or both of ``identities`` and ``size``, a size that is no multiple of
            ``instances``, one identity a batch, or an unknown rule.
        DataError: The data has fewer identities than a batch needs.

    Source: Hermans et al., In Defense of the Triplet Loss, 2017 (P×K; its epochs are
        ``one_group``); ``all_images`` is the rule of Luo et al., Bag of Tricks, 2019.
    """

    def __init__(
        self,
        *,
        labels: NDArray[np.int64],
        seed: int,
        identities: int | None = None,
        instances: int = 4,
        size: int | None = None,
        rule: Rule = "all_images",
    ) -> None:
        self.identities = identities_per_batch(identities, instances, size)
        self.instances = instances
        if rule not in get_args(Rule):
            raise ConfigError(
                f"data.batch.rule: got {rule!r}, expected {' or '.join(get_args(Rule))}"
                f"{did_you_mean(rule, get_args(Rule))}"
            )
        self.rule = rule
        self._rows = rows_by_label(labels)
        if len(self._rows) < self.identities:
            raise DataError(too_few_identities(len(self._rows), self.identities, instances))
        self._counts = np.array([len(rows) for rows in self._rows])
        self._groups = np.maximum(self._counts // instances, 1)
        if rule == "all_images":
            self._length = max_batches(self._groups, self.identities)
        else:
            self._length = len(self._rows) // self.identities
        self._seed = seed

    def __len__(self) -> int:
        return self._length

    def batches(self, epoch: int) -> Iterator[NDArray[np.int64]]:
        """Yield the batches of an epoch, each (P*K,), images of one identity side by side."""
        rng = np.random.default_rng(np.random.SeedSequence((self._seed, epoch)))
        return self._all_images(rng) if self.rule == "all_images" else self._one_group(rng)

    def summary(self) -> str:
        """Say what an epoch holds, how much it sees, and which identities repeat images."""
        drawn = self._length * self.identities * self.instances
        short = int((self._counts < self.instances).sum())
        text = (
            f"{self._length} batches of {self.identities} identities x {self.instances} images: "
            f"an epoch draws {drawn} from {int(self._counts.sum())} images, {self._coverage()}"
        )
        if short:
            text += (
                f"; {short} identities have fewer than {self.instances} images, theirs repeat "
                "in a batch"
            )
        return text

    def _all_images(self, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
        waiting = [self._cut(rows, rng) for rows in self._rows]
        remaining = self._groups.copy()
        for left in range(self._length, 0, -1):
            chosen = choose(remaining, left, self.identities, rng)
            remaining[chosen] -= 1
            yield np.concatenate([waiting[identity].pop() for identity in chosen])

    def _one_group(self, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
        order = rng.permutation(len(self._rows))[: self._length * self.identities]
        for chosen in order.reshape(self._length, self.identities):
            groups = [draw(self._rows[identity], self.instances, rng) for identity in chosen]
            yield np.concatenate(groups)

    def _cut(self, rows: NDArray[np.int64], rng: np.random.Generator) -> list[NDArray[np.int64]]:
        shuffled = rng.permutation(rows)
        if len(shuffled) < self.instances:
            return [np.resize(shuffled, self.instances)]
        whole = len(shuffled) // self.instances * self.instances
        return list(shuffled[:whole].reshape(-1, self.instances))

    def _coverage(self) -> str:
        total, people = int(self._counts.sum()), len(self._counts)
        if self.rule == "all_images":
            images, seen, is_exact = least_seen(
                self._counts, self._groups, self.instances, self.identities
            )
            kind: Certainty = "exact" if is_exact else "at_least"
            return coverage(Share(images, total, kind), Share(seen, people, kind))
        seen = self._length * self.identities
        images_of = np.minimum(self._counts, self.instances)
        expected = float(images_of.sum()) * seen / people
        return coverage(Share(expected, total, "expected"), Share(seen, people))
