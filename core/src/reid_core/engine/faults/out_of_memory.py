"""What to lower when memory runs out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

import torch

from reid_core.config import Config
from reid_core.errors import TrainingError

if TYPE_CHECKING:
    from reid_core.engine.step_trainer import StepTrainer

#: What torch says when the main memory gives no more, with its own allocator and without.
_MARKS = ("DefaultCPUAllocator", "can't allocate memory", "not enough memory")
_GIB = 2**30


@contextmanager
def explained_out_of_memory(
    trainer: StepTrainer, where: Literal["step", "evaluation"]
) -> Iterator[None]:
    """Turn an error of an allocator into one that says which settings need less.

    Args:
        trainer: Whose configuration it is.
        where: What is going on.

    Raises:
        TrainingError: Memory ran out; torch's own error is its cause.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        doing = f"in step {trainer.iter}" if where == "step" else "in the evaluation"
        told = str(error).strip().splitlines() or [type(error).__name__]
        raise TrainingError(
            f"out of memory {doing}: {told[0]}{_use_of(trainer.device)}\n"
            f"lower one of these, the first costs least:\n  "
            + "\n  ".join(_settings(trainer.config, where, trainer.device))
        ) from error


def is_out_of_memory(error: BaseException) -> bool:
    """Say whether an exception means that a device or the host has no memory left."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(mark in str(error) for mark in _MARKS)


def _use_of(device: torch.device) -> str:
    if device.type != "cuda":
        return ""
    free, total = torch.cuda.mem_get_info(device)
    used, peak = torch.cuda.memory_allocated(device), torch.cuda.max_memory_allocated(device)
    return (
        f"\nGPU memory: {used / _GIB:.1f} GiB in tensors now, {peak / _GIB:.1f} at most, "
        f"{free / _GIB:.1f} free of {total / _GIB:.1f}"
    )


def _settings(config: Config, where: str, device: torch.device) -> Iterator[str]:
    """Yield settings with the values they have, the cheapest first."""
    height, width = config.data.image_size
    if where == "evaluation":
        yield f"evaluate.batch_size (now {config.evaluate.batch_size}): changes no figure"
        yield f"data.image_size (now [{height}, {width}])"
        return
    train = config.train
    size = "the whole batch" if train.micro_batch is None else train.micro_batch
    yield f"train.micro_batch (now {size}): the same gradients, in chunks"
    if not train.gradient_checkpointing:
        yield "train.gradient_checkpointing=true (now false): the same gradients, computed twice"
    if train.precision == "fp32":
        yield "train.precision=bf16 (now fp32)"
    batch = {key: value for key, value in config.data.batch.as_call().items() if key != "name"}
    shown = ", ".join(f"{key} {value}" for key, value in batch.items())
    yield f"data.batch (now {shown or 'the sampler default'}): fewer images in a batch"
    yield f"data.image_size (now [{height}, {width}])"
    if device.type == "cpu" and config.data.workers:
        yield f"data.workers (now {config.data.workers}): each keeps batches in memory"
