"""The checks of a reranker."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reid_core.evaluation import DistanceName, DistanceReranker, FeatureReranker
from reid_core.evaluation.rerankers import reranked
from reid_core.evaluation.rerankers.checked import described
from reid_core.testing.base import Conformance
from reid_core.testing.randomness import used_generators
from reid_core.testing.tensors import describe

#: Largest difference that another order of float32 sums makes in distances.
TOLERANCE = 1e-4

Distances = NDArray[np.float32] | NDArray[np.float64]


class RerankerConformance(Conformance):
    """The checks of a reranker: what it makes of embeddings or distances."""

    kind = "rerankers"
    distances: tuple[DistanceName, ...] = ("cosine", "euclidean")

    def query(self) -> Tensor:
        """Return the embeddings of the queries: 12 of 8 numbers, near 5 centres."""
        return _embeddings(12, seed=0)

    def gallery(self) -> Tensor:
        """Return the embeddings of the gallery: 40 of 8 numbers, near the same centres."""
        return _embeddings(40, seed=1)

    def build_reranker(self) -> FeatureReranker | DistanceReranker:
        """Build the reranker."""
        reranker = self.build()
        self.require(
            isinstance(reranker, FeatureReranker | DistanceReranker),
            f"it gave {describe(reranker)}; expected a reid_core.evaluation.FeatureReranker or "
            "DistanceReranker: the entry point names a function that returns one",
        )
        assert isinstance(reranker, FeatureReranker | DistanceReranker)
        return reranker

    # Checks.

    def test_name_and_description_are_one_line(self) -> None:
        """Both are printed beside every number."""
        reranker = self.build_reranker()
        for attribute in ("name", "description"):
            text = getattr(reranker, attribute)
            self.require(
                isinstance(text, str) and bool(text.strip()) and "\n" not in text,
                f"its {attribute} is {text!r}; expected one line of text",
            )

    def test_results_have_the_shape_of_what_they_replace(self) -> None:
        """Embeddings stay (Q, D) and (G, D) float32, a block of distances is (B, G)."""
        for distance in self.distances:
            reranker, query, gallery = self.build_reranker(), self.query(), self.gallery()
            with self.attempt(f"with distance {distance}", "expected both distances to work"):
                if isinstance(reranker, FeatureReranker):
                    for given, made in zip(
                        (query, gallery),
                        reranker.features(query, gallery, distance=distance),
                        strict=True,
                    ):
                        self.require(
                            isinstance(made, Tensor)
                            and made.shape == given.shape
                            and made.dtype == torch.float32,
                            f"features() makes {describe(made)} of {describe(given)}; expected "
                            "the same shape in float32",
                        )
                else:
                    block = reranker.distances(query, gallery, distance=distance)(3, 8)
                    is_array = isinstance(block, np.ndarray) and block.dtype.kind == "f"
                    self.require(
                        is_array and block.shape == (5, len(gallery)),
                        f"distances() gives {described(block)} for queries 3 to 8; expected a "
                        f"numpy array (5, {len(gallery)}) of float32 or float64",
                    )

    def test_results_are_finite(self) -> None:
        """So they are where all embeddings are equal, and for one query and one entry."""
        cases = {
            "": (self.query(), self.gallery()),
            " where all embeddings are equal": (torch.ones(4, 8), torch.ones(9, 8)),
            " where all embeddings are 0": (torch.zeros(4, 8), torch.zeros(9, 8)),
            " for one query and one gallery entry": (self.query()[:1], self.gallery()[:1]),
        }
        for distance in self.distances:
            for where, (query, gallery) in cases.items():
                self._measured(query, gallery, distance, where=where)

    def test_embeddings_are_left_alone(self) -> None:
        """What is given is not changed: plain figures are made of it too."""
        query, gallery = self.query(), self.gallery()
        self._measured(query, gallery)
        self.require(
            torch.equal(query, self.query()) and torch.equal(gallery, self.gallery()),
            "changes the embeddings that it is given; work on a copy",
        )

    def test_results_repeat(self) -> None:
        """Two calls of one object give the same, as does a second object."""
        first, again = (self._measured(self.query(), self.gallery()) for _ in range(2))
        self.require(
            np.array_equal(first, again),
            "gives other distances the second time; draw from a generator with a fixed seed, and "
            "keep nothing in the object",
        )

    def test_blocks_of_queries_give_the_same(self) -> None:
        """Distances are asked for in blocks: how they are cut changes nothing."""
        whole = self._measured(self.query(), self.gallery())
        blocks = self._measured(self.query(), self.gallery(), step=5)
        self.require(
            bool(np.allclose(whole, blocks, atol=TOLERANCE)),
            "distances of a block of queries differ from those of all queries at once; let a row "
            "depend on its own query, whatever the block",
        )

    def test_order_of_the_gallery_does_not_matter(self) -> None:
        """A permuted gallery gives permuted distances."""
        query, gallery = self.query(), self.gallery()
        order = np.random.default_rng(2).permutation(len(gallery))
        plain = self._measured(query, gallery)[:, order]
        permuted = self._measured(query, gallery[torch.from_numpy(order)])
        self.require(
            bool(np.allclose(plain, permuted, atol=TOLERANCE)),
            "the result depends on the order of the gallery; expected each entry to be judged by "
            "its embedding",
        )

    def test_needed_bytes_grow_with_the_set(self) -> None:
        """The memory that is said to be added is a number of bytes, larger for a larger set."""
        reranker = self.build_reranker()
        small = reranker.needed_bytes(100, 1000, 64)
        large = reranker.needed_bytes(10_000, 100_000, 2048)
        for size in (small, large):
            self.require(
                isinstance(size, int) and not isinstance(size, bool) and size >= 0,
                f"needed_bytes() gives {size!r}; expected bytes, an int of at least 0",
            )
        self.require(
            large > small,
            f"needed_bytes() gives {small} for 1,100 rows and {large} for 110,000; count what "
            "grows with the number of rows",
        )

    def test_random_state_of_the_run_is_left_alone(self) -> None:
        """Reranking touches no global generator."""
        used = used_generators(lambda: self._measured(self.query(), self.gallery()))
        self.require(not used, f"it uses the global generator of {', '.join(used)}; expected none")

    # Helpers.

    def _measured(
        self,
        query: Tensor,
        gallery: Tensor,
        distance: DistanceName = "cosine",
        step: int = 0,
        where: str = "",
    ) -> Distances:
        # Values that are not finite are refused by what applies the reranker.
        with self.attempt(
            f"on {len(query)} queries and {len(gallery)} gallery entries{where} (distance "
            f"{distance})",
            "expected it to work on any two tables of embeddings: clamp what is divided by, and "
            "take no more neighbours than there are",
        ):
            source = reranked(query, gallery, distance=distance, rerankers=[self.build_reranker()])
            step = step or len(query)
            blocks = [
                source(start, min(start + step, len(query))) for start in range(0, len(query), step)
            ]
            whole: Distances = np.concatenate(blocks)  # type: ignore[assignment]
            return whole


def _embeddings(count: int, seed: int) -> Tensor:
    centres = np.random.default_rng(7).standard_normal((5, 8))
    rng = np.random.default_rng(seed)
    noise = 0.5 * rng.standard_normal((count, 8))
    return torch.from_numpy(centres[rng.integers(0, 5, count)] + noise).float()
