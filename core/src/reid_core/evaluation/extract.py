"""Embeddings of a whole data set, batch by batch."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from reid_core.contracts import Batch
from reid_core.errors import DataError, PluginError
from reid_core.evaluation.tf32 import tf32_switched
from reid_core.models.conditions import condition_values


class EmbeddingModel(typing.Protocol):
    """What extraction asks of a model: an ``nn.Module`` that turns images into embeddings."""

    def embed(self, images: Tensor, /) -> Tensor:
        """Turn images (B, 3, H, W), and the conditions it may declare, into embeddings (B, D)."""

    def eval(self) -> object:
        """Switch the model to evaluation."""

    def modules(self) -> Iterator[nn.Module]:
        """Yield the model and every module in it."""


def extract_embeddings(
    model: EmbeddingModel,
    batches: Iterable[Batch],
    device: torch.device,
    *,
    num_images: int | None = None,
) -> Tensor:
    """Compute the embedding of every image.

    The model is in evaluation mode meanwhile; afterwards, also after an exception, every module
    of it has the mode it had before, so that layers someone froze stay frozen.

    Args:
        model: On ``device`` already.
        batches: Every image of a data set once, in any order.
        device: Where the model is.
        num_images: How many images the batches hold. Where it is given, embeddings are written
            where they belong as they come, and memory never holds them twice.

    Returns:
        (N, D) float32 on the host, in ascending order of ``Batch.index``.

    Raises:
        DataError: There are no batches, an image came twice, or not as many came as were told.
        PluginError: The model's answer is not (B, D) floating point.
    """
    collected = _Collected(num_images)
    # In true float32, or a run with train.tf32 would have other figures than 'reid-eval'.
    with evaluating(model), tf32_switched(False), torch.inference_mode():
        for batch in batches:
            on_device = batch.to(device)
            # A model of somebody's own may have nothing but a method embed(images).
            conditions = condition_values(on_device, getattr(model, "conditions", ()))
            embedding = model.embed(on_device.images, **conditions)
            _check_embedding(embedding, model=model, batch=batch)
            collected.add(embedding, batch.index)
    # Outside of inference mode, so that the caller gets an ordinary tensor.
    return collected.in_order()


class _Collected:
    """Embeddings in the order in which they came: a table made at once, or the parts of one."""

    def __init__(self, num_images: int | None) -> None:
        self._num_images = num_images
        self._table: Tensor | None = None
        self._parts: list[Tensor] = []
        self._indices: list[Tensor] = []
        self._count = 0

    def add(self, embedding: Tensor, index: Tensor) -> None:
        start, self._count = self._count, self._count + len(embedding)
        self._indices.append(index.cpu())
        if self._num_images is None:
            self._parts.append(embedding.to(device="cpu", dtype=torch.float32))
            return
        if self._count > self._num_images:
            raise self._wrong_count(f"{self._count} or more")
        if self._table is None:
            with torch.inference_mode(mode=False):
                self._table = torch.empty((self._num_images, embedding.shape[1]))
        if embedding.shape[1] != self._table.shape[1]:
            raise PluginError(
                f"the model gave an embedding of width {embedding.shape[1]} after one of width "
                f"{self._table.shape[1]}; expected one width for all images"
            )
        self._table[start : self._count] = embedding

    def in_order(self) -> Tensor:
        if not self._indices:
            raise DataError("no embeddings: the loader gave no batch; expected at least one image")
        if self._num_images is not None and self._count < self._num_images:
            raise self._wrong_count(str(self._count))
        table = torch.cat(self._parts) if self._table is None else self._table
        return _in_order(table, torch.cat(self._indices))

    def _wrong_count(self, got: str) -> DataError:
        return DataError(
            f"the loader gave {got} images; expected {self._num_images}: every row once, so use a "
            "loader that neither repeats, pads nor leaves out"
        )


@contextmanager
def evaluating(model: EmbeddingModel) -> Iterator[None]:
    """Have a model in evaluation mode meanwhile, and every module as it was afterwards."""
    # Module by module: train() on the whole would also wake layers that were kept in evaluation.
    former = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, is_training in former:
            module.training = is_training


def _check_embedding(embedding: Tensor, *, model: EmbeddingModel, batch: Batch) -> None:
    is_table = embedding.ndim == 2 and embedding.is_floating_point()
    if not is_table or len(embedding) != len(batch):
        raise PluginError(
            f"{type(model).__name__}.embed returned {tuple(embedding.shape)} {embedding.dtype} "
            f"for {len(batch)} images; expected ({len(batch)}, D) floating point"
        )


def _in_order(features: Tensor, index: Tensor) -> Tensor:
    ordered, order = torch.sort(index, stable=True)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(repeated):
        raise DataError(
            f"{len(repeated)} images came more than once, the first is row {int(repeated[0])}; "
            "expected every row once: use a loader that neither repeats nor pads"
        )
    if torch.equal(ordered, index):
        return features
    return features[order]
