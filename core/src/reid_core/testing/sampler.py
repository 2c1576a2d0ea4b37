"""The checks of a sampler."""

from __future__ import annotations

from itertools import islice
from typing import cast

import numpy as np
from numpy.typing import NDArray

from reid_core.data.samplers import EpochSampler
from reid_core.testing.base import Conformance
from reid_core.testing.randomness import used_generators

Batches = list[NDArray[np.int64]]

#: Epochs that are drawn.
_EPOCHS = 3
#: Names of the two sets that the data comes from.
_SET_NAMES = ("first", "second")
#: Images of each identity of the data that is sampled from: many, few and a single one.
_COUNTS = (9, 4, 6, 1, 5, 8, 3, 7, 4, 2, 6, 5)


class SamplerConformance(Conformance):
    """The checks of a sampler: rows of the training set, in batches, epoch by epoch.

    It is given 60 rows of 12 identities with 1 to 9 images, in mixed order, and 3 cameras.
    The first 8 identities are of the data set ``first``, the others of ``second``.
    """

    kind = "samplers"

    def labels(self) -> NDArray[np.int64]:
        """Return the labels of the rows, (N,) int64, read-only."""
        labels = np.repeat(np.arange(len(_COUNTS), dtype=np.int64), _COUNTS)
        mixed = np.random.default_rng(0).permutation(labels)
        mixed.flags.writeable = False
        return mixed

    def camids(self) -> NDArray[np.int64]:
        """Return the cameras of the rows, (N,) int64, read-only."""
        camids = np.random.default_rng(1).integers(0, 3, len(self.labels()))
        camids.flags.writeable = False
        return camids

    def columns(self) -> dict[str, NDArray[np.generic]]:
        """Return further columns of the rows: ``viewids``, 0 to 2, and ``modalities``, text."""
        views = np.random.default_rng(2).integers(0, 3, len(self.labels()))
        return {"viewids": views, "modalities": np.where(views == 0, "infrared", "rgb")}

    def sets(self) -> NDArray[np.int64]:
        """Return which data set each row is from, (N,) int64, read-only."""
        sets = (self.labels() >= 8).astype(np.int64)
        sets.flags.writeable = False
        return sets

    def context(self) -> dict[str, object]:
        """Return labels, cameras, sets and a seed: nothing else is known of the data."""
        return {
            "labels": self.labels(),
            "camids": self.camids(),
            "columns": self.columns(),
            "sets": self.sets(),
            "set_names": _SET_NAMES,
            "seed": 0,
        }

    def build_sampler(self, seed: int = 0) -> EpochSampler:
        """Build the sampler.

        Args:
            seed: Seed of its epochs.
        """
        with self.attempt(
            "when it was built", "expected the context to be enough, and left unchanged"
        ):
            sampler = self.build(seed=seed)
        if not isinstance(sampler, EpochSampler):
            self._reject(sampler)
        return cast("EpochSampler", sampler)

    # Checks.

    def test_batches_are_rows_of_the_data(self) -> None:
        """Each batch is a one-dimensional int64 array of rows that exist."""
        for batch in self._draw(self.build_sampler(), 0):
            self.require(
                isinstance(batch, np.ndarray) and batch.ndim == 1 and batch.dtype == np.int64,
                f"it yields {_describe(batch)}; expected an array of rows (B,) int64",
            )
            self.require(len(batch) > 0, "it yields an empty batch; expected at least one row")
            self.require(
                batch.min() >= 0 and batch.max() < len(self.labels()),
                f"it yields rows {batch.min()} to {batch.max()}; the data has rows 0 to "
                f"{len(self.labels()) - 1}",
            )

    def test_length_is_exact(self) -> None:
        """Every epoch has ``len()`` batches, and at least one."""
        sampler = self.build_sampler()
        length = len(sampler)
        self.require(
            length > 0,
            f"an epoch of {len(self.labels())} rows has no batch; set `parameters` to a batch that "
            "this data can fill",
        )
        for epoch in range(_EPOCHS):
            count = len(self._draw(sampler, epoch))
            more = " or more" if count > length else ""
            self.require(
                count == length == len(sampler),
                f"epoch {epoch} has {count}{more} batches, len() is {length}; expected exactly "
                "len() in every epoch",
            )

    def test_epochs_depend_on_seed_and_epoch_alone(self) -> None:
        """Any epoch can be drawn at any time, which a resumed run relies on."""
        sampler = self.build_sampler()
        in_order = [self._draw(sampler, epoch) for epoch in range(_EPOCHS)]
        backwards = self.build_sampler()
        for epoch in reversed(range(_EPOCHS)):
            self.require(
                _is_same(self._draw(backwards, epoch), in_order[epoch]),
                f"epoch {epoch} depends on what was drawn before it; make a generator from "
                "np.random.SeedSequence((seed, epoch)) in batches()",
            )
        self.require(
            _is_same(self._draw(sampler, 0), in_order[0]),
            "drawing epoch 0 a second time gives other batches; expected a function of seed and "
            "epoch",
        )

    def test_epochs_and_seeds_differ(self) -> None:
        """Another epoch, and another seed, give other batches."""
        sampler = self.build_sampler()
        first = self._draw(sampler, 0)
        self.require(
            not _is_same(first, self._draw(sampler, 1)),
            "epochs 0 and 1 have the same batches; seed the order with the epoch too",
        )
        self.require(
            not _is_same(first, self._draw(self.build_sampler(seed=1), 0)),
            "seeds 0 and 1 give the same batches; take `seed` as a parameter and use it",
        )

    def test_two_iterations_do_not_disturb_each_other(self) -> None:
        """An epoch that was begun goes on unchanged while another one is drawn."""
        sampler = self.build_sampler()
        expected = self._draw(self.build_sampler(), 0)
        begun = iter(sampler.batches(0))
        head = list(islice(begun, 1))
        self._draw(sampler, 1)
        rest = list(islice(begun, len(sampler)))
        self.require(
            _is_same([*head, *rest], expected),
            "epoch 0 changes while epoch 1 is drawn; keep the state of an iteration in batches()",
        )

    def test_summary_is_one_line(self) -> None:
        """``summary()`` tells in one line what an epoch holds."""
        summary = self.build_sampler().summary()
        self.require(
            isinstance(summary, str) and bool(summary.strip()) and "\n" not in summary,
            f"summary() returns {summary!r}; expected one line of text",
        )

    def test_random_state_of_the_run_is_left_alone(self) -> None:
        """All randomness comes from the seed."""
        used = used_generators(lambda: self._draw(self.build_sampler(), 0))
        self.require(
            not used,
            f"it uses the global generator of {', '.join(used)}; use "
            "np.random.default_rng(np.random.SeedSequence((seed, epoch)))",
        )

    # Helpers.

    def _draw(self, sampler: EpochSampler, epoch: int) -> Batches:
        """Return the batches of an epoch; one more than there should be ends an endless one."""
        with self.attempt(f"in batches({epoch})", "expected the batches of any epoch"):
            batches = list(islice(sampler.batches(epoch), len(sampler) + 1))
        if batches and _is_integer(batches[0]):
            self._reject_rows()
        return batches

    def _reject(self, sampler: object) -> None:
        missing = [name for name in ("__len__", "batches", "summary") if not hasattr(sampler, name)]
        first = next(iter(sampler), None) if hasattr(sampler, "__iter__") else None
        if _is_integer(first):
            self._reject_rows()
        self.fail(
            f"it gave a {type(sampler).__name__} without {', '.join(missing)}; expected a "
            "reid_core.data.samplers.EpochSampler: len(), batches(epoch) and summary()",
        )

    def _reject_rows(self) -> None:
        self.fail(
            "it is a sampler, not a batch sampler: it yields single rows (int); expected "
            "batches(epoch) to yield whole batches, arrays of rows (B,) int64",
        )


def _is_integer(value: object) -> bool:
    return isinstance(value, int | np.integer)


def _is_same(left: Batches, right: Batches) -> bool:
    return len(left) == len(right) and all(map(np.array_equal, left, right))


def _describe(batch: object) -> str:
    if isinstance(batch, np.ndarray):
        return f"an array {batch.shape} {batch.dtype}"
    return f"a {type(batch).__name__} ({str(batch)[:40]})"
