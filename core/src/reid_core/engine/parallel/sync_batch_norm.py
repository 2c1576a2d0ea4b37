"""Batch normalisation over the batches of all processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.modules.batchnorm import _BatchNorm
from torch.overrides import TorchFunctionMode

from reid_core.distributed.tensors import summed


def synchronise_batch_norm(model: nn.Module) -> int:
    """Let every batch normalisation of a model use the statistics of the whole batch.

    Parameters, buffers and their names stay what they are. A subclass keeps what it does besides.

    Args:
        model: Changed in place.

    Returns:
        How many there are.
    """
    norms = [m for m in model.modules() if isinstance(m, _BatchNorm)]
    for norm in norms:
        kind = type(norm)
        if not issubclass(kind, (Synchronised, nn.SyncBatchNorm)):
            # The object stays the same one: whoever holds it, an optimizer's group say, goes on.
            norm.__class__ = type(kind.__name__, (Synchronised, kind), {})
    return len(norms)


class Synchronised(_BatchNorm):
    """Comes before a batch normalisation's class and makes its statistics those of all processes.

    torch's own ``SyncBatchNorm`` works on GPUs only, and would drop what a subclass does.
    """

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 — torch's word
        """Return the normalised input, (B, C, …)."""
        with _Together():
            return super().forward(input)

    def __reduce_ex__(self, protocol: object) -> tuple[object, ...]:
        """Copy and pickle by the plain class, which others can import."""
        plain = type(self).__mro__[2]
        return _remade, (plain,), self.__dict__.copy()


def _remade(plain: type[nn.Module]) -> nn.Module:
    made = plain.__new__(plain)
    made.__class__ = type(plain.__name__, (Synchronised, plain), {})
    return made


class _Together(TorchFunctionMode):
    """Takes the place of ``batch_norm`` where it computes statistics."""

    def __torch_function__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        if func is not functional.batch_norm:
            return func(*args, **(kwargs or {}))
        return _batch_norm(*args, **(kwargs or {}))  # type: ignore[arg-type]


def _batch_norm(
    rows: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Compute what ``torch.nn.functional.batch_norm`` would of the batch of all processes."""
    if not training or not dist.is_initialized():
        return functional.batch_norm(
            rows, running_mean, running_var, weight, bias, training, momentum, eps
        )
    values = rows.float()
    others = [0, *range(2, rows.dim())]
    shape = [1, -1, *[1] * (rows.dim() - 2)]
    count = rows.numel() // rows.shape[1] * dist.get_world_size()
    # In two passes: the difference of two large sums would lose most digits of a small variance.
    mean = summed(values.sum(others)) / count
    centred = values - mean.view(shape)
    variance = summed(centred.square().sum(others)) / count
    normal = centred * (variance + eps).rsqrt().view(shape)
    _update(running_mean, mean, momentum)
    _update(running_var, variance * (count / max(count - 1, 1)), momentum)
    if weight is not None:
        normal = normal * weight.view(shape)
    if bias is not None:
        normal = normal + bias.view(shape)
    return normal.to(rows.dtype)


@torch.no_grad()
def _update(running: Tensor | None, value: Tensor, momentum: float) -> None:
    if running is not None:
        running.lerp_(value.detach().to(running.dtype), momentum)
