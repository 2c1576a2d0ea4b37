"""The running statistics of normalisation layers, estimated anew over training batches."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn.modules.batchnorm import _NormBase

from reid_core.checkpoint.random_state import seed_everything
from reid_core.optim.frozen import freeze
from reid_plugin_hooks.undisturbed import undisturbed

if TYPE_CHECKING:
    from reid_core import DefaultTrainer
    from reid_core.contracts import Batch

log = logging.getLogger("reid_core")


def estimate_statistics(trainer: DefaultTrainer, model: nn.Module, *, batches: int) -> None:
    """Replace the running statistics of a model by their averages over training batches.

    Mean and variance of a layer become the plain averages of the batches' means and of the batches'
    variances, each variance being the unbiased one that torch keeps (divided by n - 1). It is what
    training's moving average is around; how far the means of the batches are from each other does
    not count as variance.

    The model runs in training mode, in float32 as an evaluation does, without gradients and with
    weights that stand still. The batches are those of the epochs that come next, from a loader of
    its own. Nothing else changes: random states, counters of batches, momenta, the memory of a
    loss and the place in the data are those of before. Layers whose statistics are frozen keep
    them, and so do those that were never called.

    Args:
        trainer: The run that the model belongs to.
        model: Its model, or an average of it.
        batches: How many, at least 1.

    Raises:
        Interrupted: A signal asked the run to leave; the statistics are the former ones.

    Source: Wu and Johnson, Rethinking "Batch" in BatchNorm, 2021, section 3.
    """
    with _modes(model, _modes_of_training(trainer)):
        layers = layers_with_statistics(model)
        if layers:
            _estimate(trainer, model, layers, batches)


def layers_with_statistics(model: nn.Module) -> list[_NormBase]:
    """Return the layers whose running statistics a forward pass would change."""
    return [
        module
        for module in model.modules()
        if isinstance(module, _NormBase)
        and module.training
        and module.track_running_stats
        and module.running_mean is not None
    ]


def _estimate(
    trainer: DefaultTrainer, model: nn.Module, layers: list[_NormBase], batches: int
) -> None:
    statistics = [b for layer in layers for b in (layer.running_mean, layer.running_var)]
    results = [buffer for buffer in statistics if buffer is not None]
    with _averaging(layers), undisturbed(model, results=results), torch.no_grad():
        # The same estimate, whether it is made now or in a run that was resumed here.
        seed_everything(trainer.config.seed)
        for batch in itertools.islice(_coming_batches(trainer), batches):
            model(batch)
            trainer.check_interrupt()
    log.info("statistics of %d layers estimated over %d batches", len(layers), batches)


def _coming_batches(trainer: DefaultTrainer) -> Iterator[Batch]:
    # Not the run's own loader, which may be in the middle of an epoch.
    loader = trainer.build_train_loader()
    for epoch in itertools.count(trainer.steps_done // len(loader)):
        yield from loader.epoch(epoch)


@contextmanager
def _averaging(layers: list[_NormBase]) -> Iterator[None]:
    """Let running statistics be plain averages over the calls of each layer."""
    momenta = [layer.momentum for layer in layers]
    handles = [layer.register_forward_pre_hook(_PlainAverage()) for layer in layers]
    try:
        yield
    finally:
        for layer, handle, momentum in zip(layers, handles, momenta, strict=True):
            handle.remove()
            layer.momentum = momentum


class _PlainAverage:
    """Sets the momentum before each call of a layer: 1, 1/2, 1/3 and so on.

    It counts the calls of the layer, which need not be those of the model: a layer may be shared,
    or be left out at random.
    """

    def __init__(self) -> None:
        self._calls = 0

    def __call__(self, layer: nn.Module, arguments: object) -> None:
        assert isinstance(layer, _NormBase)
        if self._calls == 0:
            # 0 times a former value that is not finite would not be 0.
            layer.reset_running_stats()
        self._calls += 1
        layer.momentum = 1 / self._calls


def _modes_of_training(trainer: DefaultTrainer) -> dict[str, bool]:
    """Return the mode of every module, by name, as the next step would have it."""
    # Before the first step of a resumed run the trainer has not done this yet.
    freeze(trainer.model, trainer.config.train.optimizer.frozen).hold()
    return {name: module.training for name, module in trainer.model.named_modules()}


@contextmanager
def _modes(model: nn.Module, wanted: Mapping[str, bool]) -> Iterator[None]:
    """Put modules into the wanted modes, and back."""
    former = [(module, module.training) for module in model.modules()]
    for name, module in model.named_modules():
        module.training = wanted.get(name, True)
    try:
        yield
    finally:
        for module, is_training in former:
            module.training = is_training
