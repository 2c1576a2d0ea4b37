"""Tensors of a model, exchanged by the default process group on the device where they are.

All processes call each of these at the same place, with tensors of one shape and type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import cast

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.autograd import Function
from torch.autograd.function import FunctionCtx


def gathered(rows: Tensor) -> Tensor:
    """Return the rows of all processes, in the order of their ranks.

    Args:
        rows: (B, …) of any type.

    Returns:
        (world · B, …), without gradient.
    """
    own = rows.detach().contiguous()
    parts = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, own)
    return torch.cat(parts)


def gathered_with_gradient(rows: Tensor) -> Tensor:
    """Return the rows of all processes; the gradient reaches this process' own.

    Every process computes the same loss of all rows, and gradients are averaged afterwards: to
    come out whole, that of the own rows is multiplied by the number of processes.

    Args:
        rows: (B, …) float.

    Returns:
        (world · B, …), in the order of ranks.
    """
    return cast("Tensor", _Gathered.apply(rows))


def summed(value: Tensor) -> Tensor:
    """Return the sum over all processes; the gradient is the sum of all processes' gradients."""
    return cast("Tensor", _Summed.apply(value))


def average_gradients(parameters: Iterable[nn.Parameter]) -> None:
    """Replace gradients by their means over all processes, in one exchange a type and device.

    A parameter without gradient counts as 0; where no process has one it stays None.

    Args:
        parameters: The same in all processes; those that are not trained are passed over.
    """
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    if not trained:
        return
    has = torch.tensor([float(p.grad is not None) for p in trained], device=trained[0].device)
    dist.all_reduce(has)
    used = [p for p, count in zip(trained, has.tolist(), strict=True) if count]
    for parameter in used:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    for part in _alike([cast("Tensor", parameter.grad) for parameter in used]):
        together = torch.cat([gradient.reshape(-1) for gradient in part])
        dist.all_reduce(together)
        together /= dist.get_world_size()
        sizes = [gradient.numel() for gradient in part]
        for gradient, mean in zip(part, torch.split(together, sizes), strict=True):
            gradient.copy_(mean.view_as(gradient))


def take_buffers_of_first(*modules: nn.Module) -> None:
    """Set the buffers of models, batch statistics say, to those of the first process."""
    buffers = {id(buffer): buffer for module in modules for buffer in module.buffers()}
    for buffer in buffers.values():
        # A view of it could not be received into.
        received = buffer.detach().contiguous()
        dist.broadcast(received, src=0)
        if received.data_ptr() != buffer.data_ptr():
            buffer.copy_(received)


def _alike(tensors: Sequence[Tensor]) -> Iterator[list[Tensor]]:
    """Yield the tensors of each type and device, in the order given."""
    kinds = dict.fromkeys((tensor.dtype, tensor.device) for tensor in tensors)
    for kind in kinds:
        yield [tensor for tensor in tensors if (tensor.dtype, tensor.device) == kind]


class _Gathered(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, rows: Tensor) -> Tensor:
        return gathered(rows)

    @staticmethod
    def backward(ctx: FunctionCtx, *gradients: Tensor) -> Tensor:
        world, rank = dist.get_world_size(), dist.get_rank()
        return gradients[0].chunk(world)[rank] * world


class _Summed(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, value: Tensor) -> Tensor:
        total = value.detach().clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: FunctionCtx, *gradients: Tensor) -> Tensor:
        total = gradients[0].clone()
        dist.all_reduce(total)
        return total
