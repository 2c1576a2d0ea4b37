"""Our trainer and a bare loop in turns, for the benchmarks of training; no benchmark by itself."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import torch
from torch import nn

from reid_core import Batch, DefaultTrainer, hookimpl, load_config
from reid_core.config import Config
from reid_core.testing import write_tiny_market


class InMemory:
    """An epoch of one batch, again and again."""

    def __init__(self, batch: Batch, steps: int) -> None:
        self.batch, self.steps = batch, steps

    def __len__(self) -> int:
        return self.steps

    def epoch(self, epoch: int, start: int = 0) -> Iterator[Batch]:
        """Yield the batch for every step."""
        for _ in range(start, self.steps):
            yield self.batch


class Trainer(DefaultTrainer):
    """The default trainer, but for its loader."""

    batch: Batch
    steps: int

    def build_train_loader(self) -> InMemory:
        """Return the batches in memory."""
        return InMemory(self.batch.to(self.device), self.steps)


class BareLoop:
    """What a person writes who has a model, a batch and an optimizer.

    Args:
        trainer: The model is a copy of its one, the precision and the layout are the same.
    """

    def __init__(self, trainer: Trainer) -> None:
        train = trainer.config.train
        self.model: nn.Module = copy.deepcopy(trainer.model)
        self.optimizer = trainer.build_optimizer(self.model)
        self.layout = torch.channels_last if train.channels_last else torch.contiguous_format
        self.is_half = train.precision == "bf16"
        self.device = trainer.device
        self.batch = Trainer.batch.to(trainer.device)
        self.model.train()
        self.call: Callable[[Batch], object] = self.model
        if train.compile:
            self.call = torch.compile(self.model)

    def step(self) -> None:
        """Do one step."""
        batch = self.batch.with_images(self.batch.images.contiguous(memory_format=self.layout))
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.is_half):
            losses = self.call(batch).losses  # type: ignore[attr-defined]
        loss = torch.stack(list(losses.values())).sum()
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()


class TakesTurns:
    """Does a step of the bare loop before each of ours, and times both.

    Ours is all that the loop does from the end of the bare step to the beginning of the next one.

    Attributes:
        bare: Seconds of each bare step.
        ours: Seconds of each of our steps but the last.
        peaks: Most memory of the device in a step, in bytes: bare, ours.
    """

    def __init__(self, bare: BareLoop) -> None:
        self._bare = bare
        self._end_of_bare = 0.0
        self._is_cuda = bare.device.type == "cuda"
        self.bare: list[float] = []
        self.ours: list[float] = []
        self.peaks = [0, 0]

    @hookimpl(tryfirst=True)
    def before_step(self) -> None:
        """Close our step, and do a bare one."""
        started = self._now(1)
        if self._end_of_bare:
            self.ours.append(started - self._end_of_bare)
        self._bare.step()
        self._end_of_bare = self._now(0)
        self.bare.append(self._end_of_bare - started)

    def _now(self, whose: int) -> float:
        if self._is_cuda:
            torch.cuda.synchronize()
            self.peaks[whose] = max(self.peaks[whose], torch.cuda.max_memory_allocated())
            torch.cuda.reset_peak_memory_stats()
        return time.perf_counter()


def build(
    settings: Mapping[str, object],
    folder: Path,
    *,
    batch: int,
    size: tuple[int, int],
    steps: int,
) -> Trainer:
    """Build the trainer, whose data is one batch in memory.

    Args:
        settings: Of the configuration, by path: the model, the mode.
        folder: An empty folder.
        batch: Images, a multiple of 4.
        size: Height and width in pixels.
        steps: Steps of the run.
    """
    generator = torch.Generator().manual_seed(0)
    Trainer.steps = steps
    Trainer.batch = Batch(
        images=torch.randn(batch, 3, *size, generator=generator),
        pids=torch.arange(batch) // 4,
        camids=torch.zeros(batch, dtype=torch.int64),
        index=torch.arange(batch),
    )
    return Trainer(_config(settings, folder, identities=batch // 4, size=size))


def _config(
    settings: Mapping[str, object], folder: Path, *, identities: int, size: tuple[int, int]
) -> Config:
    """Return the configuration: cross entropy and triplet, Adam, no evaluation."""
    root = write_tiny_market(folder / "data", train_identities=identities)
    return load_config(
        "osnet/osnet_x0_25",
        {
            "data.train": {"name": "market1501", "root": str(root)},
            "data.image_size": list(size),
            "data.batch": {"sampler": "identity", "identities": identities, "instances": 4},
            "data.workers": 0,
            "train.epochs": 1,
            "train.log_every": 2,
            "evaluate.every": 0,
            "evaluate.at_start": False,
            "schedule.warmup": None,
            "output": str(folder / "run"),
            **settings,
        },
    )
