"""Time of a training step: our trainer with its default hooks against a bare PyTorch loop.

Both train copies of one model on the same batches, which lie in memory. They take turns, a block of
steps each, so that whatever else the machine does hits both.
"""

from __future__ import annotations

import argparse
import copy
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import nn

from reid_core import Batch, DefaultTrainer, hookimpl, load_config
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
        return InMemory(self.batch, self.steps)


class TakesTurns:
    """Runs a block of the bare loop before each epoch, and times the steps of both."""

    def __init__(self, model: nn.Module, optimizer: torch.optim.Optimizer, batch: Batch) -> None:
        self.model, self.optimizer, self.batch = model, optimizer, batch
        self.bare: list[float] = []
        self.ours: list[float] = []
        self._last = 0.0

    @hookimpl
    def before_epoch(self, trainer: Trainer) -> None:
        """Time the bare loop."""
        self.model.train()
        for _ in range(trainer.steps):
            started = time.perf_counter()
            losses = self.model(self.batch).losses
            loss = torch.stack(list(losses.values())).sum()
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
            self.bare.append(time.perf_counter() - started)
        self._last = time.perf_counter()

    @hookimpl(trylast=True)
    def after_step(self) -> None:
        """Time from the end of one step to the end of the next: everything our loop does."""
        now = time.perf_counter()
        self.ours.append(now - self._last)
        self._last = now


def main() -> None:
    """Measure and print one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backbone", default="osnet_x0_25")
    parser.add_argument("--batch", type=int, default=64, help="images a batch, a multiple of 4")
    parser.add_argument("--size", type=int, nargs=2, default=(128, 64), help="height and width")
    parser.add_argument("--steps", type=int, default=10, help="steps a block")
    parser.add_argument(
        "--blocks", type=int, default=8, help="blocks of each; the first is warm-up"
    )
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        hook = measure(options, Path(folder))
    skip = options.steps
    bare, ours = hook.bare[skip:], hook.ours[skip:]
    pairs = [o / b for b, o in zip(bare, ours, strict=True)]
    print(f"{options.backbone}, batch {options.batch} of {options.size}, {len(ours)} steps each")
    print(f"{'':14}{'median ms':>12}{'total s':>12}")
    for name, times in (("bare loop", bare), ("our trainer", ours)):
        print(f"{name:14}{1000 * statistics.median(times):12.2f}{sum(times):12.2f}")
    medians = statistics.median(ours) / statistics.median(bare)
    print(
        f"ratio of medians {medians:.4f}, of totals {sum(ours) / sum(bare):.4f}, "
        f"median of paired ratios {statistics.median(pairs):.4f}"
    )


def measure(options: argparse.Namespace, folder: Path) -> TakesTurns:
    """Train both and return the times."""
    identities = options.batch // 4
    root = write_tiny_market(folder / "data", train_identities=identities)
    config = load_config(
        "osnet/osnet_x0_25",
        {
            "data.train": {"name": "market1501", "root": str(root)},
            "data.image_size": list(options.size),
            "data.batch": {"sampler": "identity", "identities": identities, "instances": 4},
            "model.backbone": {"name": options.backbone},
            "epochs": options.blocks,
            "evaluate.every": options.blocks,
            "evaluate.at_start": False,
            "schedule.warmup": None,
            "output": str(folder / "run"),
        },
    )
    generator = torch.Generator().manual_seed(0)
    Trainer.steps = options.steps
    Trainer.batch = Batch(
        images=torch.randn(options.batch, 3, *options.size, generator=generator),
        pids=torch.arange(options.batch) // 4,
        camids=torch.zeros(options.batch, dtype=torch.int64),
        index=torch.arange(options.batch),
    )
    trainer = Trainer(config)
    model = copy.deepcopy(trainer.model)
    optimizer = trainer.build_optimizer(model)
    hook = TakesTurns(model, optimizer, Trainer.batch)
    trainer.register_hooks([hook])
    trainer.train()
    return hook


if __name__ == "__main__":
    main()
