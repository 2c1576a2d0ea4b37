"""The checks of an evaluation protocol."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reid_core.evaluation import Labels, Protocol
from reid_core.testing.base import Conformance
from reid_core.testing.randomness import used_generators
from reid_core.testing.tensors import describe


class ProtocolConformance(Conformance):
    """The checks of a protocol: which gallery entries do not count for a query."""

    kind = "protocols"

    def query(self) -> Labels:
        """Return the queries: 12 of 5 identities in 3 cameras, with views, clothes, modalities."""
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
        mask = self._excluded(protocol, self.query(), self.gallery())
        expected = (len(self.query()), len(self.gallery()))
        self.require(
            isinstance(mask, np.ndarray) and mask.shape == expected and mask.dtype == np.bool_,
            f"excluded() returns {_array(mask)}; expected an array {expected} of bool",
        )
        before = mask.copy()
        mask[:] = ~mask  # the caller may change it
        self.require(
            np.array_equal(self._excluded(protocol, self.query(), self.gallery()), before),
            "excluded() returns the same array again, which its caller changes; return a new one",
        )

    def test_labels_are_left_alone(self) -> None:
        """Pids and camids are not changed."""
        query, gallery = self.query(), self.gallery()
        self._excluded(self.build_protocol(), query, gallery)
        for mine, fresh in ((query, self.query()), (gallery, self.gallery())):
            self.require(
                np.array_equal(mine.pids, fresh.pids) and np.array_equal(mine.camids, fresh.camids),
                "excluded() changes the labels that it is given; work on a copy",
            )

    def test_matches_are_counted_as_excluded_leaves_them(self) -> None:
        """``count_matches``, where it answers, agrees with ``excluded``."""
        protocol, query, gallery = self.build_protocol(), self.query(), self.gallery()
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
        protocol, query, gallery = self.build_protocol(), self.query(), self.gallery()
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
        protocol, query, gallery = self.build_protocol(), self.query(), self.gallery()
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

    def test_random_state_of_the_run_is_left_alone(self) -> None:
        """Asking the protocol touches no global generator."""
        used = used_generators(
            lambda: self._excluded(self.build_protocol(), self.query(), self.gallery())
        )
        self.require(not used, f"it uses the global generator of {', '.join(used)}; expected none")

    # Helpers.

    def _excluded(self, protocol: Protocol, query: Labels, gallery: Labels) -> NDArray[np.bool_]:
        with self.attempt("in excluded()", "expected excluded(query, gallery) to work"):
            return protocol.excluded(query, gallery)


def _labels(count: int, identities: int, seed: int) -> Labels:
    rng = np.random.default_rng(seed)
    return Labels(
        pids=rng.integers(0, identities, count),
        camids=rng.integers(0, 3, count),
        columns={
            "viewids": rng.integers(0, 4, count),
            "clothids": rng.integers(0, 3, count),
            "modalities": rng.choice(["infrared", "rgb"], count),
        },
    )


def _array(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"an array {value.shape} {value.dtype}"
    return describe(value)
