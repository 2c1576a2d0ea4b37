"""Embeddings of a whole data set, batch by batch."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from reid_core.contracts import Batch
from reid_core.errors import DataError, PluginError
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
    model: EmbeddingModel, batches: Iterable[Batch], device: torch.device
) -> Tensor:
    """Compute the embedding of every image.

    The model is in evaluation mode meanwhile; afterwards, also after an exception, every module
    of it has the mode it had before, so that layers someone froze stay frozen.

    Args:
        model: On ``device`` already.
        batches: Every image of a data set once, in any order.
        device: Where the model is.

    Returns:
        (N, D) float32 on the host, in ascending order of ``Batch.index``.

    Raises:
        DataError: There are no batches, or an image came twice.
        PluginError: The model's answer is not (B, D) floating point.
    """
    parts: list[Tensor] = []
    indices: list[Tensor] = []
    with _evaluating(model), torch.inference_mode():
        for batch in batches:
            on_device = batch.to(device)
            # A model of somebody's own may have nothing but a method embed(images).
            conditions = condition_values(on_device, getattr(model, "conditions", ()))
            embedding = model.embed(on_device.images, **conditions)
            _check_embedding(embedding, model=model, batch=batch)
            parts.append(embedding.to(device="cpu", dtype=torch.float32))
            indices.append(batch.index.cpu())
    if not parts:
        raise DataError("no embeddings: the loader gave no batch; expected at least one image")
    # Outside of inference mode, so that the caller gets an ordinary tensor.
    return _in_order(torch.cat(parts), torch.cat(indices))


@contextmanager
def _evaluating(model: EmbeddingModel) -> Iterator[None]:
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
