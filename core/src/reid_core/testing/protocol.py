"""The checks of an evaluation protocol."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from reid_core.evaluation import Embeddings, Labels, Prepared, Protocol, evaluate_retrieval
from reid_core.evaluation.plan import (
    checked_trials,
    entries_of,
    number_rows,
    prepared,
    prepared_labels,
)
from reid_core.evaluation.protocols import DISTRACTORS
from reid_core.testing.base import Conformance
from reid_core.testing.randomness import used_generators
from reid_core.testing.tensors import describe


class ProtocolConformance(Conformance):
    """The checks of a protocol: what it makes of a test set, and which entries do not count."""

    kind = "protocols"

    def query(self) -> Labels:
        """Return the queries: 12 of 5 identities in 3 cameras.

        Further columns are ``viewids``, ``clothids``, ``modalities``, ``tracklets`` and
        ``distractors``. A class for a protocol that needs others returns its own.
        """
        return _labels(12, 5, seed=0)

    def gallery(self) -> Labels:
        """Return the gallery: 40 entries of 6 identities, with distractors (0) and junk (-1)."""
        plain = _labels(40, 6, seed=1)
        pids = np.where(np.arange(40) % 9 == 0, -1, plain.pids)
        return Labels(pids=pids, camids=plain.camids, columns=plain.columns)

    def build_protocol(self) -> Protocol:
        """Build the protocol."""
        protocol = self.build()
        self.require(
            isinstance(protocol, Protocol),
            f"it gave {describe(protocol)}; expected a reid_core.evaluation.Protocol: the entry "
            "point names a function that returns one",
        )
        assert isinstance(protocol, Protocol)
        return protocol

    # Checks.

    def test_name_and_description_are_one_line(self) -> None:
        """Both are printed beside every number."""
        protocol = self.build_protocol()
        for attribute in ("name", "description"):
            text = getattr(protocol, attribute)
            self.require(
                isinstance(text, str) and bool(text.strip()) and "\n" not in text,
                f"its {attribute} is {text!r}; expected one line of text",
            )

    def test_excluded_is_a_table_of_bools(self) -> None:
        """``excluded`` gives (Q, G) bool, a new array each time."""
        protocol = self.build_protocol()
        query, gallery = self._sides()
        mask = self._excluded(protocol, query, gallery)
        expected = (len(query), len(gallery))
        self.require(
            isinstance(mask, np.ndarray) and mask.shape == expected and mask.dtype == np.bool_,
            f"excluded() returns {_array(mask)}; expected an array {expected} of bool",
        )
        before = mask.copy()
        mask[:] = ~mask  # the caller may change it
        self.require(
            np.array_equal(self._excluded(protocol, query, gallery), before),
            "excluded() returns the same array again, which its caller changes; return a new one",
        )

    def test_labels_are_left_alone(self) -> None:
        """Pids and camids are not changed."""
        query, gallery = self._sides()
        self._excluded(self.build_protocol(), query, gallery)
        for mine, fresh in zip((query, gallery), self._sides(), strict=True):
            self.require(
                np.array_equal(mine.pids, fresh.pids) and np.array_equal(mine.camids, fresh.camids),
                "excluded() changes the labels that it is given; work on a copy",
            )

    def test_matches_are_counted_as_excluded_leaves_them(self) -> None:
        """``count_matches``, where it answers, agrees with ``excluded``."""
        protocol, (query, gallery) = self.build_protocol(), self._sides()
        counted = protocol.count_matches(query, gallery)
        if counted is None:
            return
        is_match = query.pids[:, None] == gallery.pids
        expected = (is_match & ~self._excluded(protocol, query, gallery)).sum(axis=1)
        self.require(
            np.array_equal(counted, expected),
            f"count_matches() gives {counted.tolist()}, and excluded() leaves "
            f"{expected.tolist()}; let it return None, or count what excluded() leaves",
        )

    def test_blocks_of_queries_give_the_same(self) -> None:
        """Queries are asked for in blocks: a row depends on its own query alone."""
        protocol, (query, gallery) = self.build_protocol(), self._sides()
        whole = self._excluded(protocol, query, gallery)
        blocks = [
            self._excluded(protocol, query.block(start, start + 5), gallery)
            for start in range(0, len(query), 5)
        ]
        self.require(
            np.array_equal(np.concatenate(blocks), whole),
            "a query is treated otherwise among fewer queries; expected each row to depend on its "
            "own query alone",
        )

    def test_order_of_the_gallery_does_not_matter(self) -> None:
        """A permuted gallery gives the permuted table."""
        protocol, (query, gallery) = self.build_protocol(), self._sides()
        order = np.random.default_rng(2).permutation(len(gallery))
        permuted = gallery.take(order)
        self.require(
            np.array_equal(
                self._excluded(protocol, query, permuted),
                self._excluded(protocol, query, gallery)[:, order],
            ),
            "the result depends on the order of the gallery; expected each entry to be judged by "
            "its labels",
        )

    def test_a_promise_to_leave_out_the_own_identity_alone_is_kept(self) -> None:
        """``excludes_own_pid_only`` is true, also where part of the gallery is asked about."""
        protocol, (query, gallery) = self.build_protocol(), self._sides()
        if not protocol.excludes_own_pid_only:
            return
        excluded = self._excluded(protocol, query, gallery)
        is_other = (query.pids[:, None] != gallery.pids) & ~protocol.ignored(gallery)
        broken = np.argwhere(excluded & is_other)
        where = f"query {broken[0][0]} and gallery entry {broken[0][1]}" if len(broken) else ""
        self.require(
            not len(broken),
            "it says excludes_own_pid_only = True, and excluded() leaves out an entry of another "
            f"identity ({where}); expected False, which is the default",
        )
        part = np.random.default_rng(4).permutation(len(gallery))[: len(gallery) // 2]
        self.require(
            np.array_equal(self._excluded(protocol, query, gallery.take(part)), excluded[:, part]),
            "it says excludes_own_pid_only = True, and excluded() answers otherwise for a part of "
            "the gallery; expected each pair to be judged by its own two rows",
        )

    def test_random_state_of_the_run_is_left_alone(self) -> None:
        """Asking the protocol touches no global generator."""
        used = used_generators(self._ask)
        self.require(not used, f"it uses the global generator of {', '.join(used)}; expected none")

    def test_what_is_ignored_is_excluded(self) -> None:
        """``ignored`` gives (G,) bool, of entries that ``excluded`` leaves out for all queries."""
        protocol, (query, gallery) = self.build_protocol(), self._sides()
        ignored = protocol.ignored(gallery)
        self.require(
            isinstance(ignored, np.ndarray)
            and ignored.shape == (len(gallery),)
            and ignored.dtype == np.bool_,
            f"ignored() returns {_array(ignored)}; expected an array ({len(gallery)},) of bool",
        )
        kept = ignored & ~self._excluded(protocol, query, gallery).all(axis=0)
        self.require(
            not kept.any(),
            f"ignored() takes away gallery entry {int(np.argmax(kept))}, which excluded() lets "
            "count; expected junk that excluded() leaves out for every query",
        )

    def test_trials_cut_the_set_the_same_each_time(self) -> None:
        """``trials`` names rows that there are, lets none search itself, and repeats itself."""
        protocol = self.build_protocol()
        first, again = self._trials(protocol), self._trials(protocol)
        same = len(first) == len(again) and all(
            np.array_equal(one, other) for one, other in zip(first, again, strict=True)
        )
        self.require(
            same,
            "trials() cuts the same labels differently the second time; draw with a generator of "
            "your own, seeded anew in each call: numpy.random.default_rng(seed)",
        )

    def test_prepare_keeps_labels_and_width(self) -> None:
        """``prepare`` gives rows with the labels of a row they stand for, and embeddings of D."""
        protocol, sides = self.build_protocol(), self._embeddings()
        copies = [side.features.clone() for side in sides]
        made = self._prepared(protocol, *sides)
        for name, before, copy, after, rows in (
            ("query", sides[0], copies[0], made.query, made.query_rows),
            ("gallery", sides[1], copies[1], made.gallery, made.gallery_rows),
        ):
            self.require(
                torch.equal(before.features, copy),
                f"prepare() changes the embeddings of the {name} that it is given; work on a copy",
            )
            self.require(
                after.features.shape[1] == before.features.shape[1] and len(rows) == len(after),
                f"prepare() makes {tuple(after.features.shape)} of the {name}'s "
                f"{tuple(before.features.shape)}, with {len(rows)} rows that they stand for; "
                "expected the same width, and a row for each",
            )
            stands = before.labels.take(np.asarray(rows, dtype=np.int64))
            self.require(
                np.array_equal(stands.pids, after.labels.pids)
                and np.array_equal(stands.camids, after.labels.camids),
                f"prepare() gives the {name} other labels than those of the rows that they stand "
                "for; expected the first row of each group",
            )

    def test_groups_are_of_one_identity_and_camera(self) -> None:
        """``grouped``, where it answers, gives an integer an image, and mixes no identities."""
        protocol, (query, gallery) = self.build_protocol(), self._sides()
        with self.attempt("in grouped()", "expected groups of one identity and camera"):
            entries_of(prepared_labels(query, gallery, protocol).gallery.labels, protocol)

    def test_a_test_set_can_be_evaluated(self) -> None:
        """Random embeddings get figures from 0 to 1."""
        protocol = self.build_protocol()
        with self.attempt("in an evaluation", "expected figures of random embeddings"):
            result = evaluate_retrieval(*self._embeddings(), protocol=protocol)
        figures = result.scalars()
        self.require(
            all(0 <= value <= 1 for value in figures.values()),
            f"the figures of random embeddings are {figures}; expected values from 0 to 1",
        )

    # Helpers.

    def _sides(self) -> tuple[Labels, Labels]:
        return number_rows(self.query(), self.gallery())

    def _embeddings(self) -> tuple[Embeddings, Embeddings]:
        rng = np.random.default_rng(3)
        query, gallery = (
            Embeddings(
                torch.from_numpy(rng.standard_normal((len(side), 8), dtype=np.float32)),
                side.pids,
                side.camids,
                side.columns,
            )
            for side in (self.query(), self.gallery())
        )
        return query, gallery

    def _prepared(self, protocol: Protocol, query: Embeddings, gallery: Embeddings) -> Prepared:
        with self.attempt("in prepare()", "expected prepare(query, gallery) to work"):
            return prepared(query, gallery, protocol)

    def _trials(self, protocol: Protocol) -> list[NDArray[np.int64]]:
        """Return the rows of queries and gallery of each trial, checked."""
        with self.attempt("in trials()", "expected trials(query, gallery) to work"):
            made = prepared_labels(*self._sides(), protocol)
            trials = checked_trials(made.query.labels, made.gallery.labels, protocol)
        return [rows for trial in trials or () for rows in (trial.query, trial.gallery)]

    def _ask(self) -> None:
        protocol, (query, gallery) = self.build_protocol(), self._sides()
        self._excluded(protocol, query, gallery)
        self._trials(protocol)

    def _excluded(self, protocol: Protocol, query: Labels, gallery: Labels) -> NDArray[np.bool_]:
        with self.attempt("in excluded()", "expected excluded(query, gallery) to work"):
            return protocol.excluded(query, gallery)


def _labels(count: int, identities: int, seed: int) -> Labels:
    rng = np.random.default_rng(seed)
    pids, camids = rng.integers(0, identities, count), rng.integers(0, 3, count)
    return Labels(
        pids=pids,
        camids=camids,
        columns={
            # Two of each identity and camera; junk is a tracklet of its own.
            "tracklets": 6 * pids
            + 2 * camids
            + np.arange(count) % 2
            + 100 * (np.arange(count) % 9 == 0),
            DISTRACTORS: pids == 5,
            "viewids": rng.integers(0, 4, count),
            "clothids": rng.integers(0, 3, count),
            "modalities": rng.choice(["infrared", "rgb"], count),
        },
    )


def _array(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"an array {value.shape} {value.dtype}"
    return describe(value)
