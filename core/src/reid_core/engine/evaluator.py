"""One test set: embeddings of its images, retrieval figures, and ranked galleries to look at."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from reid_core.config import Config
from reid_core.contracts import Batch
from reid_core.data.broken_images import BrokenImages
from reid_core.data.cameras import CameraMap, are_view_codes
from reid_core.data.columns import number_columns
from reid_core.data.image_dataset import Collate, ImageDataset
from reid_core.data.loader import Normalize, TestLoader, usable_workers
from reid_core.data.sources import TestSet
from reid_core.engine.evaluation_parts import build_protocol, build_rerankers
from reid_core.errors import DataError
from reid_core.evaluation import (
    EmbeddingModel,
    Embeddings,
    Labels,
    Protocol,
    RetrievalResult,
    evaluate_retrieval,
    extract_embeddings,
    match_coverage,
    no_camera,
    top_matches,
)
from reid_core.report.thumbnails import shown_by
from reid_core.wording import counted

log = logging.getLogger("reid_core")

#: Queries of each selection (worst, random, best) and gallery entries of each in the report.
RANKED_QUERIES = 3
RANKED_RESULTS = 10


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
    """

    result: RetrievalResult
    query: Embeddings
    gallery: Embeddings
    rows: NDArray[np.int64]
    reranked: RetrievalResult | None = None

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

    Raises:
        DataError: No query has a valid match under the protocol; said before anything is trained.
    """

    def __init__(self, test_set: TestSet, config: Config, device: torch.device) -> None:
        self.name = test_set.name
        self._set = test_set
        self._config = config
        self._device = device
        self.caveats = test_set.caveats
        self.has_cameras = test_set.rows.has_cameras
        self._protocol = _protocol_for(test_set, config)
        self._rerankers = build_rerankers(config)
        self._pids, self._camids = test_set.codes()
        self._dataset = ImageDataset(
            test_set.rows,
            image_size=config.data.image_size,
            interpolation=config.data.interpolation,
            resize=config.data.resize,
            mean=config.data.mean,
            broken_images=config.data.broken_images,
        )
        self._columns = dict(number_columns([test_set.rows]))
        self._label_columns = test_set.rows.columns
        #: Images that could not be read, and were left out.
        self.broken = BrokenImages()
        self._check_coverage()

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
            rows = self._set.rows
            rows = rows if trained_as is None else replace(rows, name=trained_as)
            self._columns["training_camids"] = cameras.codes(rows)
        if "viewids" in conditions:
            views = self._set.rows.columns.get("viewids")
            if views is None or not are_view_codes(views):
                has = "no column viewids" if views is None else "a column viewids of other values"
                raise DataError(
                    f"test set {self.name}: the model is conditioned on views, and the set has "
                    f"{has}; choose a set with integers from 0, or a model without the condition"
                )

    def _check_coverage(self) -> None:
        count = self._set.num_query
        labels = Labels(self._pids, self._camids, self._label_columns)
        query, gallery = labels.block(0, count), labels.block(count, len(labels))
        coverage = match_coverage(query, gallery, protocol=self._protocol)
        try:
            coverage.require_valid()
        except DataError as error:
            raise DataError(f"test set {self.name}: {error}") from error
        if coverage.num_valid < coverage.num_queries:
            log.warning(
                "test set %s: %d of %d queries have no valid match and are skipped: %d show an "
                "identity that is not in the gallery, %d have only matches that protocol %s leaves "
                "out; 'reid-data check' names them",
                self.name,
                coverage.num_queries - coverage.num_valid,
                coverage.num_queries,
                coverage.num_absent,
                coverage.num_excluded,
                coverage.protocol,
            )

    def evaluate(self, model: EmbeddingModel, between_batches: Callable[[], None]) -> Retrieval:
        """Embed all images and measure the retrieval.

        Args:
            model: With a method ``embed(images)``.
            between_batches: Called after each batch; it may raise to leave early.
        """
        valid = np.ones(len(self._dataset), dtype=bool)
        features = extract_embeddings(model, self._batches(valid, between_batches), self._device)
        rows = np.flatnonzero(valid)
        num_query = int((rows < self._set.num_query).sum())
        if len(rows) < len(valid):
            left_out = counted(len(valid) - len(rows), "broken image")
            log.warning("test set %s: %s left out", self.name, left_out)
        for split, number, total in (
            ("query", num_query, self._set.num_query),
            ("gallery", len(rows) - num_query, len(valid) - self._set.num_query),
        ):
            if not number:
                raise DataError(
                    f"test set {self.name}: all {total} {split} images are broken, so there is "
                    "nothing to measure; broken_images.json and 'reid-data check' name them"
                )
        features = features[torch.from_numpy(rows)]
        query = self._embeddings(features[:num_query], rows[:num_query])
        gallery = self._embeddings(features[num_query:], rows[num_query:])
        distance, protocol = self._config.evaluate.distance, self._protocol
        result = evaluate_retrieval(query, gallery, distance=distance, protocol=protocol)
        reranked = None
        if self._rerankers:
            reranked = evaluate_retrieval(
                query, gallery, distance=distance, protocol=protocol, rerankers=self._rerankers
            )
        return Retrieval(result, query, gallery, rows, reranked)

    def _batches(
        self, valid: NDArray[np.bool_], between_batches: Callable[[], None]
    ) -> Iterator[Batch]:
        data = self._config.data
        loader = TestLoader(
            dataset=self._dataset,
            collate=Collate(self._pids, self._camids, self._columns),
            batch_size=self._config.evaluate.batch_size,
            normalize=Normalize(data.mean, data.std),
            device=self._device,
            workers=usable_workers(data.workers),
            start_method=data.start_method,
        )
        for batch in loader:
            broken = batch.index[~batch.columns["is_valid"]]
            valid[broken.cpu().numpy()] = False
            for image in self.broken.note(loader.broken):
                log.warning(
                    "test set %s: broken image left out: %s (%s)",
                    self.name,
                    image.path,
                    image.reason,
                )
            yield batch
            between_batches()

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

        Args:
            retrieval: What :meth:`evaluate` returned.
            queries: Queries of each selection.
            results: Gallery entries a query.
            seed: Seed of the random selection.

        Returns:
            Plain records, as ``ranks.json`` holds them.
        """
        chosen = _choose_queries(retrieval.result.ap, queries, seed)
        top = top_matches(
            retrieval.query,
            retrieval.gallery,
            distance=self._config.evaluate.distance,
            protocol=self._protocol,
            k=results,
            rows=[row for _, row in chosen],
        )
        num_query = len(retrieval.query)
        records: list[dict[str, object]] = []
        for position, (selection, row) in enumerate(chosen):
            entries = [
                {
                    **self._describe(int(retrieval.rows[num_query + gallery_row])),
                    "distance": float(top.distances[position, rank]),
                    "match": bool(top.is_match[position, rank]),
                }
                for rank, gallery_row in enumerate(top.gallery_rows[position])
                if gallery_row >= 0
            ]
            records.append(
                {
                    "dataset": self.name,
                    "selection": selection,
                    "query": self._describe(int(retrieval.rows[row])),
                    "ap": float(retrieval.result.ap[row]),
                    "protocol": retrieval.result.protocol,
                    "distance": retrieval.result.distance,
                    "results": entries,
                }
            )
        return records

    def _describe(self, row: int) -> dict[str, object]:
        rows = self._set.rows
        return {
            "path": self._dataset.path(row),
            "pid": str(rows.pids[row]),
            "camid": str(rows.camids[row]),
            **shown_by(self._dataset.rows, row),
        }


def _protocol_for(test_set: TestSet, config: Config) -> Protocol:
    """Return the config's protocol, or the one without cameras where the set knows none."""
    protocol = build_protocol(config)
    if test_set.rows.has_cameras or not protocol.needs_cameras:
        return protocol
    without = no_camera()
    log.warning(
        "test set %s: its cameras are not known, so it is evaluated by protocol %s (camera filter "
        "off), not by %s; its figures cannot be compared with those of protocols that leave out "
        "the query's own camera",
        test_set.name,
        without.name,
        protocol.name,
    )
    return without


def _choose_queries(ap: NDArray[np.float64], count: int, seed: int) -> list[tuple[str, int]]:
    """Return (selection, query row): worst first, then random, then best; none twice."""
    valid = np.flatnonzero(~np.isnan(ap))
    ordered = valid[np.argsort(ap[valid], kind="stable")].tolist()
    worst = ordered[:count]
    best = [row for row in reversed(ordered) if row not in worst][:count]
    rest = [row for row in ordered if row not in worst and row not in best]
    picked = np.random.default_rng(seed).permutation(rest)[:count].astype(int).tolist()
    return (
        [("worst", row) for row in worst]
        + [("random", row) for row in picked]
        + [("best", row) for row in best]
    )
