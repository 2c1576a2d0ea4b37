"""The folder ``nan``: batches whose loss or gradient was not finite."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from reid_core.checkpoint.atomic import write_atomically
from reid_core.contracts import Batch
from reid_core.data.image_rows import ImageRows

if TYPE_CHECKING:
    from reid_core.engine.step_trainer import StepTrainer

#: Batches that are kept of a run; one may hold 50 MB.
MAX_FILES = 10


def save_nan_batch(
    trainer: StepTrainer, batch: Batch, *, step: int, losses: Mapping[str, Tensor], lr: float
) -> Path | None:
    """Save a batch as ``nan/step_<number>.pt``, with all that is known of its step.

    The file holds tensors and plain types; ``torch.load(path, weights_only=True)`` reads it. A
    process that is not the first one adds its number to the name.

    Args:
        trainer: Whose run folder it goes to.
        batch: This process' share, as the model got it.
        step: Number of the step, from 0.
        losses: Weighted losses by name, each ().
        lr: The learning rate.

    Returns:
        The file; None where the folder holds :data:`MAX_FILES` others already.

    Raises:
        OSError: It cannot be written.
    """
    folder = trainer.folder.path / "nan"
    rank = trainer.processes.rank
    suffix = "" if rank == 0 else f"_process{rank}"
    path = folder / f"step_{step:08d}{suffix}.pt"
    others = [p for p in folder.glob("step_*.pt") if p != path] if folder.is_dir() else []
    if len(others) >= MAX_FILES * trainer.processes.count:
        return None
    content = {
        "step": step,
        "epoch": step // len(trainer.data_loader),
        "lr": lr,
        "losses": {name: float(value) for name, value in losses.items()},
        "images": batch.images.cpu(),
        "pids": batch.pids.cpu(),
        "camids": batch.camids.cpu(),
        "index": batch.index.cpu(),
        "columns": {name: values.cpu() for name, values in batch.columns.items()},
        "paths": _paths(trainer, batch),
    }
    write_atomically(path, lambda file: torch.save(content, file))
    return path


def _paths(trainer: StepTrainer, batch: Batch) -> list[str]:
    """Return where each image lies; empty for one that is no row of the training sets."""
    images = ImageRows(trainer.train_manifests)
    rows: list[int] = batch.index.tolist()
    return [images.locate(row) if 0 <= row < len(images) else "" for row in rows]
