"""One model in several processes: what is called in training, and how numbers are put together."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import replace

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from reid_core.contracts import Batch, ReidModel
from reid_core.distributed.processes import Processes
from reid_core.distributed.tensors import take_buffers_of_first
from reid_core.engine.step_result import StepResult
from reid_core.errors import ConfigError, TrainingError
from reid_core.models.weighted_losses import losses_of

#: Parameters that a message names.
_SHOWN = 8


class DataParallel:
    """Calls a model so that the gradients of all processes are averaged.

    Args:
        model: The bare model; wrapped for the call only.
        find_unused: Whether parameters may go unused in a step.
    """

    def __init__(self, model: ReidModel, *, find_unused: bool) -> None:
        self._model = model
        #: What an evaluation uses.
        self.evaluated = model
        self._find_unused = find_unused
        self._wrapped: DistributedDataParallel | None = None
        self._trained: list[str] = []

    def __call__(self, batch: Batch) -> object:
        """Return what the model makes of this process' share of a batch."""
        trained = [n for n, p in self._model.named_parameters() if p.requires_grad]
        if trained != self._trained:
            # A hook froze something, or let it go: what is exchanged is fixed when it is wrapped.
            self._wrapped = None
            self._trained = trained
        if not trained:
            return self._model(batch)
        if self._wrapped is None:
            self._wrapped = DistributedDataParallel(
                self._model, find_unused_parameters=self._find_unused
            )
        return self._wrapped(batch)

    def refresh_evaluated(self) -> None:
        """Do nothing: what is trained is evaluated itself."""


def require_gradients(model: nn.Module) -> None:
    """Check that every trained parameter has a gradient.

    Raises:
        TrainingError: One has none.
    """
    unused = [n for n, p in model.named_parameters() if p.requires_grad and p.grad is None]
    if unused:
        more = f" and {len(unused) - _SHOWN} more" if len(unused) > _SHOWN else ""
        raise TrainingError(
            f"{len(unused)} parameters got no gradient in this step, and several processes "
            f"wait for it: {', '.join(unused[:_SHOWN])}{more}; leave what the losses do not "
            "use out of the model, freeze it, or --set "
            "train.distributed.find_unused_parameters=true"
        )


def take_statistics_of_first(processes: Processes, *models: nn.Module) -> None:
    """Give all processes the batch statistics and other buffers of the first one."""
    if processes.count > 1:
        take_buffers_of_first(*models)


def of_all(result: StepResult, processes: Processes) -> StepResult:
    """Return the numbers of a step as means over all processes: those of the whole batch.

    A number that only some processes have is the mean over these.
    """
    if processes.count == 1:
        return result
    own = {
        "": result.loss,
        **{f"loss/{name}": value for name, value in result.losses.items()},
        **{f"metric/{name}": value for name, value in result.metrics.items()},
    }
    means = _means(own, processes)
    return replace(
        result,
        loss=means[""],
        losses={name: means[f"loss/{name}"] for name in result.losses},
        metrics={
            key.removeprefix("metric/"): value
            for key, value in means.items()
            if key.startswith("metric/")
        },
    )


def _means(own: Mapping[str, Tensor], processes: Processes) -> dict[str, Tensor]:
    names = _names_of_all(list(own), processes)
    device = own[""].device
    nothing = torch.zeros((), device=device)
    values = [own[name].float().to(device) if name in own else nothing for name in names]
    has = torch.tensor([float(name in own) for name in names], device=device)
    sums = torch.stack([torch.stack(values), has])
    dist.all_reduce(sums)
    means: dict[str, Tensor] = dict(zip(names, sums[0] / sums[1], strict=True))
    return means


def _names_of_all(own: list[str], processes: Processes) -> list[str]:
    """Return the names that any process has; they are sent only where two processes differ."""
    code = zlib.crc32("\n".join(own).encode())
    if not processes.differs(code):
        return own
    return list(dict.fromkeys(processes.gather(own)))


def require_gathered(model: nn.Module, processes: Processes) -> None:
    """Check that losses which must see all batches do.

    Raises:
        ConfigError: One that says ``needs_gather`` is not given them.
    """
    losses = losses_of(model)
    if processes.count == 1 or losses is None:
        return
    lone = losses.lacking_gather()
    if lone:
        raise ConfigError(
            f"model.losses: {', '.join(lone)} must see the batches of all processes (its class "
            "says needs_gather); expected gather: true beside its name"
        )
