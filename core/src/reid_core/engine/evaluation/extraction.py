"""The images of a test set on their way to embeddings, in one process or several."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reid_core.config import Config
from reid_core.contracts import Batch
from reid_core.data.broken_images import BrokenImage, BrokenImages
from reid_core.data.columns import number_columns
from reid_core.data.image_dataset import Collate, ImageDataset
from reid_core.data.loader import Normalize, TestLoader, usable_workers
from reid_core.data.sources import TestSet
from reid_core.distributed.processes import ALONE, Processes
from reid_core.errors import DataError
from reid_core.evaluation import EmbeddingModel, extract_embeddings
from reid_core.evaluation.search import non_finite_rows
from reid_core.evaluation.views import Views, check_sizes, with_views

log = logging.getLogger("reid_core")


class EmbeddingsNotFiniteError(DataError):
    """A model gives embeddings that are not finite."""


def views_of(config: Config) -> Views:
    """Return the views of an image that a config asks for."""
    features = config.evaluate.features
    return Views(
        flip=features.flip,
        scales=features.scales,
        crops=features.crops,
        normalize=features.normalize,
    )


class Extraction:
    """Embeds the images of one test set.

    Args:
        test_set: Query and gallery.
        config: Image size, normalisation, views.
        device: Where the model runs.
        processes: Those that share the images.
    """

    def __init__(
        self,
        test_set: TestSet,
        config: Config,
        device: torch.device,
        processes: Processes = ALONE,
    ) -> None:
        self._name = test_set.name
        self._config = config
        self._device = device
        self._processes = processes
        self._views = views_of(config)
        self._labels = test_set.codes()
        self._size = (config.data.image_size[0], config.data.image_size[1])
        self._columns = dict(number_columns([test_set.rows]))
        #: The images as the model gets them.
        self.dataset = ImageDataset(
            test_set.rows,
            image_size=self._views.loaded_size(self._size),
            interpolation=config.data.interpolation,
            resize=config.data.resize,
            mean=config.data.mean,
            broken_images=config.data.broken_images,
        )
        #: Images that could not be read, and were left out.
        self.broken = BrokenImages()

    def add_columns(self, columns: Mapping[str, NDArray[np.int64]]) -> None:
        """Add columns that batches shall have, each (N,), by name."""
        self._columns |= columns

    def check_model(self, model: EmbeddingModel) -> None:
        """Try the sizes of the views before a whole set is read.

        Raises:
            ConfigError: The model cannot embed a size.
        """
        check_sizes(model, self._views, self._size, self._device)

    def features_of(self, model: EmbeddingModel) -> str:
        """Say how an embedding is made, where it is not the plain way; else nothing."""
        note = getattr(model, "embedding_note", "")
        return "; ".join(filter(None, [note, self._views.description]))

    def embed(
        self, model: EmbeddingModel, between_batches: Callable[[], None]
    ) -> tuple[Tensor, NDArray[np.int64]]:
        """Embed all images.

        Args:
            model: On the device.
            between_batches: Called after each batch; it may raise to leave early.

        Returns:
            (N, D) float32 on the host, and the (N,) ascending rows of the test set that they are:
            all but the broken ones. The same in every process.

        Raises:
            DataError: An image is broken and may not be left out, or an embedding is not finite.
        """
        loader = self._loader()
        broken = BrokenImages()
        features = torch.empty((0, 0))
        with self._processes.together():
            self.check_model(model)
            viewed = with_views(model, self._views, self._size)
            if len(loader.rows):
                features = extract_embeddings(
                    viewed,
                    self._batches(loader, broken, between_batches),
                    self._device,
                    num_images=len(loader.rows),
                )
        features = self._processes.gather_rows(features, loader.rows, len(self.dataset))
        found = sorted(self._processes.gather(list(broken)), key=lambda image: image.row)
        self._note(found)
        valid = np.ones(len(self.dataset), dtype=bool)
        valid[[image.row for image in found]] = False
        rows = np.flatnonzero(valid)
        if len(rows) < len(valid):
            # A copy, which is not made for sets without broken images.
            features = features[torch.from_numpy(rows)]
        self._check_finite(features, rows)
        return features, rows

    def _loader(self) -> TestLoader:
        data = self._config.data
        return TestLoader(
            dataset=self.dataset,
            collate=Collate(*self._labels, self._columns),
            batch_size=self._config.evaluate.batch_size,
            normalize=Normalize(data.mean, data.std),
            device=self._device,
            workers=usable_workers(data.workers),
            start_method=data.start_method,
            rank=self._processes.rank,
            num_ranks=self._processes.count,
        )

    def _batches(
        self, loader: TestLoader, broken: BrokenImages, between_batches: Callable[[], None]
    ) -> Iterator[Batch]:
        for batch in loader:
            self._note(broken.note(loader.broken))
            yield batch
            between_batches()

    def _note(self, images: list[BrokenImage]) -> None:
        for image in self.broken.note(images):
            log.warning(
                "test set %s: broken image left out: %s (%s)",
                self._name,
                image.path,
                image.reason,
            )

    def _check_finite(self, features: Tensor, rows: NDArray[np.int64]) -> None:
        bad_rows = non_finite_rows(features)
        if not len(bad_rows):
            return
        first = int(rows[int(bad_rows[0])])
        raise EmbeddingsNotFiniteError(
            f"test set {self._name}: the embeddings of {len(bad_rows)} of {len(features)} images "
            f"are not finite, the first is that of {self.dataset.path(first)} (row {first}); no "
            "score is given for them: the model has diverged or its input is damaged, so check the "
            "training loss, and in half precision the range of the activations"
        )
