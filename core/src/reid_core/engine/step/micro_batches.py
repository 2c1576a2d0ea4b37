"""A batch in chunks, with the gradients of the whole batch, for metric losses too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from reid_core.checkpoint.random_state import random_state, set_random_state
from reid_core.contracts import Batch, HeadOutput, TrainOutput
from reid_core.engine.step.buffer_snapshot import BufferSnapshot
from reid_core.engine.step.head_outputs import as_leaves, joined, tensors_of
from reid_core.errors import ConfigError, PluginError
from reid_core.models.weighted_losses import CAPTURED, WeightedLosses
from reid_core.plugins.origin import origin_of

if TYPE_CHECKING:
    from reid_core.engine.step_trainer import StepTrainer


class MicroBatches:
    """Computes the gradients of a batch with the activations of one chunk in memory at a time.

    Each chunk goes through the model without a graph; the losses are computed once, on the outputs
    of all chunks together, which gives the gradient of each output; then each chunk goes through
    the model again, with the random numbers of its first pass, and those gradients go back through
    it. A loss that compares images sees the whole batch, a memory is filled once, and the gradients
    are those of the whole batch wherever the model treats each image by itself. Batch statistics
    are those of a chunk; running statistics move with each chunk, in the second pass only.

    The model's losses have to be computed by :class:`WeightedLosses`.

    Args:
        model: The model that is trained.
        size: Images of a chunk, at least 1; where a batch is no multiple of it, chunks differ by
            one image at most.

    Raises:
        ConfigError: The model computes its losses in another way.

    Source: Gao et al., "Scaling Deep Contrastive Learning Batch Size under Memory Limited Setup",
        2021, section 3.2.
    """

    def __init__(self, model: nn.Module, size: int) -> None:
        self.size = size
        self._losses = _only_losses(model)

    def compute_gradients(self, trainer: StepTrainer, batch: Batch) -> TrainOutput:
        """Add the gradients of the losses of a batch to those of the parameters.

        They are scaled where the trainer has a scaler, and not averaged over processes yet.

        Args:
            trainer: Whose model is called, in its precision.
            batch: The batch (B, …) of this process.

        Returns:
            The losses of the whole batch.

        Raises:
            ConfigError: The model does not return what its ``WeightedLosses`` gave.
        """
        chunks = list(_chunks(batch, self.size))
        snapshot = BufferSnapshot(trainer.model, without=(self._losses,))
        states, outputs = [], []
        for chunk in chunks:
            states.append(random_state())
            outputs.append(self._output(trainer, chunk, with_graph=False))
        snapshot.restore()
        leaves = as_leaves(joined(outputs))
        del outputs
        result = self._losses.weighted(leaves, batch)
        loss = torch.stack(list(result.losses.values())).sum()
        torch.autograd.backward(loss if trainer.scaler is None else trainer.scaler.scaled(loss))
        after_losses = random_state()
        gradients = [leaf.grad for leaf in tensors_of(leaves)]
        start = 0
        for chunk, state in zip(chunks, states, strict=True):
            set_random_state(state)
            output = self._output(trainer, chunk, with_graph=True)
            _backward(tensors_of(output), gradients, start, start + len(chunk))
            start += len(chunk)
        # What the losses drew is drawn only once.
        set_random_state(after_losses)
        return result

    def _output(self, trainer: StepTrainer, chunk: Batch, *, with_graph: bool) -> HeadOutput:
        """Return what the head makes of a chunk."""
        with (
            trainer.in_precision(chunk) as ready,
            nullcontext() if with_graph else torch.no_grad(),
            self._losses.capturing() as captured,
        ):
            # Not by call_model: gradients are exchanged once, after the last chunk.
            returned = trainer.model(ready)
        is_captured = isinstance(returned, TrainOutput) and set(returned.losses) == {CAPTURED}
        if not is_captured or len(captured) != 1:
            raise ConfigError(
                f"train.micro_batch: model {_named(trainer.model)} adds to its losses, or computes "
                "them several times a step, so they cannot be computed for several chunks at once; "
                "remove train.micro_batch"
            )
        for tensor in tensors_of(captured[0]):
            if tensor.dim() == 0 or len(tensor) != len(chunk):
                raise PluginError(
                    f"the head gave a tensor of shape {tuple(tensor.shape)} for {len(chunk)} "
                    "images; expected a row for each image"
                )
        return captured[0]


def _backward(
    tensors: Sequence[Tensor], gradients: Sequence[Tensor | None], start: int, stop: int
) -> None:
    """Send the gradients of the rows ``start`` up to ``stop`` back through a chunk."""
    pairs = [
        (tensor, gradient[start:stop])
        for tensor, gradient in zip(tensors, gradients, strict=True)
        if gradient is not None and tensor.requires_grad
    ]
    if pairs:
        roots, grads = zip(*pairs, strict=True)
        torch.autograd.backward(roots, grads)


def _only_losses(model: nn.Module) -> WeightedLosses:
    found = [module for module in model.modules() if isinstance(module, WeightedLosses)]
    if len(found) != 1:
        how = "without WeightedLosses" if not found else f"in {len(found)} WeightedLosses"
        raise ConfigError(
            f"train.micro_batch: model {_named(model)} computes its losses {how}, so they cannot "
            "be computed for several chunks at once; remove train.micro_batch"
        )
    return found[0]


def _named(model: nn.Module) -> str:
    return f"{type(model).__name__} ({origin_of(model)})"


def _chunks(batch: Batch, size: int) -> Iterator[Batch]:
    """Yield the rows of a batch in order, in as few chunks of at most ``size`` as can be."""
    number = -(-len(batch) // size)
    # Even ones: a last chunk of a single image would have no batch statistics.
    ends = [len(batch) * place // number for place in range(number + 1)]
    for start, stop in pairwise(ends):
        yield Batch(
            images=batch.images[start:stop],
            pids=batch.pids[start:stop],
            camids=batch.camids[start:stop],
            index=batch.index[start:stop],
            columns={name: values[start:stop] for name, values in batch.columns.items()},
        )
