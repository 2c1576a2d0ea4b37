"""One test set: embeddings of its images, retrieval figures, and ranked galleries to look at."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from reid_core.config import Config
from reid_core.data.broken_images import BrokenImages
from reid_core.data.cameras import CameraMap, are_view_codes
from reid_core.data.nobody import is_distractor
from reid_core.data.sources import TestSet
from reid_core.distributed.processes import ALONE, Processes
from reid_core.engine.evaluation.extraction import Extraction
from reid_core.engine.evaluation.measurement import measure_embeddings
from reid_core.engine.evaluation.parts import build_protocol, build_rerankers
from reid_core.engine.evaluation.protocol_choice import protocol_for
from reid_core.engine.evaluation.rankings import RANKED_QUERIES, RANKED_RESULTS, ranked_galleries
from reid_core.errors import DataError
from reid_core.evaluation import (
    EmbeddingModel,
    Embeddings,
    Labels,
    RetrievalResult,
    Search,
    match_coverage,
    searches,
)
from reid_core.evaluation.embeddings import MissingColumnError
from reid_core.evaluation.protocols import DISTRACTORS
from reid_core.report.thumbnails import shown_by
from reid_core.wording import counted

log = logging.getLogger("reid_core")


@dataclass(frozen=True)
class Retrieval:
    """What the evaluation of a test set gave.

    Args:
        result: The figures, without any reranking.
        query: Embeddings of the queries.
        gallery: Embeddings of the gallery.
        rows: Row in the test set of each query and, after them, of each gallery entry; images left
            out as broken are missing.
        reranked: The figures after reranking; None where the config names no reranker.
        features: How the embeddings were made, in words; empty where it is the plain way.
        search: The search that the figures after reranking were measured on, as in
            :class:`Measurement`.
    """

    result: RetrievalResult
    query: Embeddings
    gallery: Embeddings
    rows: NDArray[np.int64]
    reranked: RetrievalResult | None = None
    features: str = ""
    search: Search | None = None

    @property
    def results(self) -> list[RetrievalResult]:
        """The plain figures, and those after reranking if there are any."""
        return [self.result] if self.reranked is None else [self.result, self.reranked]


class Evaluator:
    """Evaluates models on one test set.

    Args:
        test_set: Query and gallery.
        config: Image size, normalisation, protocol, distance.
        device: Where the model runs.
        processes: Those that share the images of the set; each of them has all figures.

    Raises:
        DataError: No query has a valid match under the protocol; said before anything is trained.
    """

    def __init__(
        self,
        test_set: TestSet,
        config: Config,
        device: torch.device,
        processes: Processes = ALONE,
    ) -> None:
        self.name = test_set.name
        self.test_set = test_set
        self.device = device
        self._config = config
        self.caveats = test_set.caveats
        self.has_cameras = test_set.rows.has_cameras
        self.protocol = protocol_for(
            build_protocol(config),
            has_cameras=test_set.rows.has_cameras,
            what=f"test set {test_set.name}",
        )
        self.rerankers = build_rerankers(config)
        self._pids, self._camids = test_set.codes()
        self._extraction = Extraction(test_set, config, device, processes)
        self._label_columns = {
            **test_set.rows.columns,
            DISTRACTORS: is_distractor(test_set.rows),
        }
        self._check_coverage()

    @property
    def broken(self) -> BrokenImages:
        """Images that could not be read, and were left out."""
        return self._extraction.broken

    def check_model(self, model: EmbeddingModel) -> None:
        """Try the image sizes that ``evaluate.features`` asks for, before anything is embedded.

        Args:
            model: On the device.

        Raises:
            ConfigError: The model cannot embed a size.
        """
        self._extraction.check_model(model)

    def condition_on(
        self,
        conditions: Sequence[str],
        cameras: CameraMap | None,
        *,
        trained_as: str | None = None,
    ) -> None:
        """Prepare for a model that wants to know more than the pixels.

        Args:
            conditions: What it wants, of ``camids`` and ``viewids``.
            cameras: The cameras it was trained with; None where that is not known.
            trained_as: The name that the set had in training; None is the one it has here.

        Raises:
            DataError: The test set does not say it, or has a camera that was not trained with.
        """
        if "camids" in conditions:
            if cameras is None:
                raise DataError(
                    f"test set {self.name}: the model is conditioned on cameras, and its weights "
                    "do not say which; evaluate the weights of a run folder"
                )
            rows = self.test_set.rows
            rows = rows if trained_as is None else replace(rows, name=trained_as)
            self._extraction.add_columns({"training_camids": cameras.codes(rows)})
        if "viewids" in conditions:
            views = self.test_set.rows.columns.get("viewids")
            if views is None or not are_view_codes(views):
                has = "no column viewids" if views is None else "a column viewids of other values"
                raise DataError(
                    f"test set {self.name}: the model is conditioned on views, and the set has "
                    f"{has}; choose a set with integers from 0, or a model without the condition"
                )

    def _check_coverage(self) -> None:
        count = self.test_set.num_query
        labels = Labels(self._pids, self._camids, self._label_columns)
        query, gallery = labels.block(0, count), labels.block(count, len(labels))
        try:
            coverage = match_coverage(query, gallery, protocol=self.protocol)
            coverage.require_valid()
        except MissingColumnError as error:
            told = f"test set {self.name}, protocol {self.protocol.name}: {error}"
            raise DataError(told) from error
        except DataError as error:
            raise DataError(f"test set {self.name}: {error}") from error
        if coverage.num_unknown:
            log.info(
                "test set %s: %d of %d queries have no valid match and are unknown probes",
                self.name,
                coverage.num_unknown,
                coverage.num_queries,
            )
        if coverage.num_skipped:
            log.warning(
                "test set %s: %d of %d queries have no valid match and are skipped: %d %s, %d have "
                "only matches that protocol %s leaves out%s",
                self.name,
                coverage.num_skipped,
                coverage.num_queries,
                coverage.num_absent,
                "are the only image of their identity"
                if coverage.pools
                else "show an identity that is not in the gallery",
                coverage.num_excluded,
                coverage.protocol,
                "" if coverage.pools else "; 'reid-data check' names them",
            )

    def evaluate(self, model: EmbeddingModel, between_batches: Callable[[], None]) -> Retrieval:
        """Embed all images and measure the retrieval.

        Args:
            model: With a method ``embed(images)``.
            between_batches: Called after each batch; it may raise to leave early.
        """
        features, rows = self._extraction.embed(model, between_batches)
        num_rows = len(self.test_set.rows)
        num_query = int((rows < self.test_set.num_query).sum())
        if len(rows) < num_rows:
            left_out = counted(num_rows - len(rows), "broken image")
            log.warning("test set %s: %s left out", self.name, left_out)
        for split, number, total in (
            ("query", num_query, self.test_set.num_query),
            ("gallery", len(rows) - num_query, num_rows - self.test_set.num_query),
        ):
            if total and not number:
                raise DataError(
                    f"test set {self.name}: all {total} {split} images are broken, so there is "
                    "nothing to measure; broken_images.json and 'reid-data check' name them"
                )
        query = self._embeddings(features[:num_query], rows[:num_query])
        gallery = self._embeddings(features[num_query:], rows[num_query:])
        distance, protocol = self._config.evaluate.distance, self.protocol
        measured = measure_embeddings(
            query, gallery, distance=distance, protocol=protocol, rerankers=self.rerankers
        )
        result, *reranked = measured.results
        told = self._extraction.features_of(model)
        return Retrieval(
            result,
            query,
            gallery,
            rows,
            reranked[0] if reranked else None,
            told,
            measured.search,
        )

    def _embeddings(self, features: torch.Tensor, rows: NDArray[np.int64]) -> Embeddings:
        columns = {name: column[rows] for name, column in self._label_columns.items()}
        return Embeddings(features, self._pids[rows], self._camids[rows], columns)

    def rankings(
        self,
        retrieval: Retrieval,
        *,
        queries: int = RANKED_QUERIES,
        results: int = RANKED_RESULTS,
        seed: int = 0,
    ) -> list[dict[str, object]]:
        """Rank the gallery for a few queries: the best, the worst, and some at random.

        Plain distances, as in the plain figures; the first trial where the protocol draws.

        Args:
            retrieval: What :meth:`evaluate` returned.
            queries: Queries of each selection.
            results: Gallery entries a query.
            seed: Seed of the random selection.

        Returns:
            Plain records, as ``ranks.json`` holds them.
        """
        search = next(
            searches(
                retrieval.query,
                retrieval.gallery,
                distance=self._config.evaluate.distance,
                protocol=self.protocol,
            )
        )
        return ranked_galleries(
            search,
            retrieval.result,
            dataset=self.name,
            describe=lambda row: self.describe(int(retrieval.rows[row])),
            queries=queries,
            results=results,
            seed=seed,
        )

    def path(self, row: int) -> str:
        """Say where an image is.

        Args:
            row: Row of the test set, queries before gallery.
        """
        return self._extraction.dataset.path(row)

    def describe(self, row: int) -> dict[str, object]:
        """Say what is known of a row of the test set: path, pid and camid as the source has them.

        Args:
            row: Row of the test set, queries before gallery.
        """
        rows = self.test_set.rows
        return {
            "path": self.path(row),
            "pid": str(rows.pids[row]),
            "camid": str(rows.camids[row]),
            **shown_by(self._extraction.dataset.rows, row),
        }
