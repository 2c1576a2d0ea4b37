"""A model whose parameters lie in shares, one a process, for models too large for one GPU."""

from __future__ import annotations

import copy
import logging
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from reid_core.config import Config
from reid_core.contracts import Batch, ReidModel, TrainOutput
from reid_core.distributed.processes import Processes
from reid_core.distributed.shares import whole
from reid_core.engine.simple_trainer import as_train_output
from reid_core.errors import ConfigError

log = logging.getLogger("reid_core")

_SETTING = "train.distributed.strategy=fsdp"


class ShardedModel:
    """Trains a model in shares: parameters are put together where and while they are needed.

    Each repeated block of the backbone is a unit, all other parameters are one. The modules are
    changed in place, so the bare model keeps its names; its parameters are shares from now on.

    An evaluation would gather each unit once a batch, in all processes together, and these have
    different numbers of images. So a whole copy of the model is evaluated.

    Args:
        model: The bare model; before its optimizer is built.
        processes: Those that train it.

    Attributes:
        evaluated: The whole copy.

    Source: Zhao et al., PyTorch FSDP: Experiences on Scaling Fully Sharded Data Parallel, 2023.
    """

    def __init__(self, model: ReidModel, processes: Processes) -> None:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        # Shares of parameters in another layout are refused by torch; images may keep theirs.
        if not all(parameter.is_contiguous() for parameter in model.parameters()):
            log.info("%s: train.channels_last is for images, parameters stay contiguous", _SETTING)
        model.to(memory_format=torch.contiguous_format)
        self._model = model
        self.evaluated: ReidModel = copy.deepcopy(model)
        device = next(model.parameters()).device
        mesh = init_device_mesh(device.type, (processes.count,))
        blocks = blocks_of(getattr(model, "backbone", model))
        for block in blocks:
            fully_shard(block, mesh=mesh)
        self._call = _Losses(model)
        fully_shard(self._call, mesh=mesh)
        log.info("parameters in %d shares: %d blocks and the rest", processes.count, len(blocks))

    def __call__(self, batch: Batch) -> TrainOutput:
        """Return what the model makes of this process' share of a batch."""
        losses, metrics = self._call(batch)
        return TrainOutput(losses, metrics)

    def refresh_evaluated(self) -> None:
        """Give the whole copy the weights of now; all processes have to call it."""
        with torch.no_grad():
            self.evaluated.load_state_dict(whole(self._model.state_dict()))


class _Losses(nn.Module):
    """Calls a model, and returns plain dictionaries: hooks on their tensors gather parameters."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Batch) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        output = as_train_output(self.model(batch))
        return dict(output.losses), dict(output.metrics)


def blocks_of(backbone: nn.Module) -> list[nn.Module]:
    """Return the repeated blocks of a backbone.

    Those are the members of its outermost lists and sequences that have members themselves; a lone
    layer is not worth an exchange.
    """
    return list(_blocks(backbone))


def _blocks(module: nn.Module) -> Iterator[nn.Module]:
    if isinstance(module, nn.ModuleList | nn.Sequential):
        for child in module:
            if any(True for _ in child.children()) and any(True for _ in child.parameters()):
                yield child
        return
    for child in module.children():
        yield from _blocks(child)


def require_fsdp_fits(config: Config, hooks: Sequence[tuple[str, object]], count: int) -> None:
    """Check what a configuration asks for beside parameters in shares.

    Args:
        config: The configuration.
        hooks: Its hooks, by id.
        count: Number of processes.

    Raises:
        ConfigError: Something works on whole weights, or has not been made to fit.
    """
    train = config.train
    if train.distributed.strategy != "fsdp":
        return
    if count == 1:
        log.info("%s: one process has all of the model", _SETTING)
        return
    wrong = [
        *(["train.compile=true"] if train.compile else []),
        *(["train.precision=fp16 (bf16 can)"] if train.precision == "fp16" else []),
        *(["train.micro_batch"] if train.micro_batch is not None else []),
        *(["train.on_nan=rollback (stop and skip can)"] if train.on_nan == "rollback" else []),
        *(
            ["train.clip_gradients.method=adaptive (norm and value can)"]
            if train.clip_gradients is not None and train.clip_gradients.method == "adaptive"
            else []
        ),
        *(
            f"hook {id_} (its class says needs_whole_weights)"
            for id_, hook in hooks
            if getattr(hook, "needs_whole_weights", False)
        ),
    ]
    if wrong:
        raise ConfigError(
            f"{_SETTING} keeps each weight in shares, and these cannot work with that: "
            f"{', '.join(wrong)}; leave them out, or use train.distributed.strategy=ddp"
        )
