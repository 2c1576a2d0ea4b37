"""A world small enough to train in a second: a data set on disk, and components of this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from reid_core.config import Config, load_config
from reid_core.contracts import Batch, HeadOutput
from reid_core.engine import TrainerBase
from reid_core.hookspecs import hookimpl
from reid_core.plugins.registries import BACKBONES, HEADS, LOSSES
from reid_core.testing import write_tiny_market


class TinyBackbone(nn.Module):
    """One convolution; keeps maps (B, 8, h, w)."""

    feature_dim = 8

    def __init__(self, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 5, stride=4)
        self.norm = nn.BatchNorm2d(8)
        self.dropout = nn.Dropout(dropout)

    def forward(self, images: Tensor) -> Tensor:
        return self.dropout(self.norm(self.conv(images)).relu())


class TinyHead(nn.Module):
    def __init__(self, *, feature_dim: int, num_classes: int | None) -> None:
        super().__init__()
        self.embedding_dim = feature_dim
        self.classifier = nn.Linear(feature_dim, num_classes) if num_classes else None

    def forward(self, features: Tensor, pids: Tensor | None = None) -> HeadOutput:
        pooled = features.mean(dim=(2, 3))
        logits = {"global": self.classifier(pooled)} if self.classifier is not None else {}
        return HeadOutput(embedding=pooled, features={"global": pooled}, logits=logits)


class TinyLoss(nn.Module):
    def forward(self, output: HeadOutput, batch: Batch) -> Tensor:
        return nn.functional.cross_entropy(output.logits["global"], batch.pids)


class _StopAfter:
    def __init__(self, steps: int) -> None:
        self._steps = steps

    @hookimpl
    def after_step(self, trainer: TrainerBase, step: int) -> None:
        if step + 1 == self._steps:
            trainer.request_stop(15)


@pytest.fixture
def stop_after() -> type[_StopAfter]:
    """``stop_after(steps)`` is a hook that asks for a stop, as SIGTERM does."""
    return _StopAfter


@pytest.fixture(autouse=True)
def tiny_components() -> Iterator[None]:
    """Components named tiny_… for every test of the core."""
    entries = [
        (BACKBONES, "tiny_backbone", TinyBackbone),
        (HEADS, "tiny_head", TinyHead),
        (LOSSES, "tiny_loss", TinyLoss),
    ]
    for registry, name, component in entries:
        registry.register(component, name=name)
    yield
    for registry, name, _ in entries:
        registry._local.pop(name, None)


@pytest.fixture(scope="session")
def tiny_market(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Market-1501's layout: 6 training identities with 8 images, 4 test identities, 2 cameras."""
    return write_tiny_market(tmp_path_factory.mktemp("tiny_market"))


TINY_CONFIG = """
model:
  backbone: {{name: tiny_backbone}}
  head: {{name: tiny_head}}
  losses: [{{name: tiny_loss}}]
data:
  train: [{{name: market1501, root: '{root}'}}]
  image_size: [32, 16]
  batch: {{sampler: identity, identities: 3, instances: 4}}
  transforms: [{{name: random_flip}}, {{name: random_erasing}}]
  workers: 0
train:
  epochs: 4
  optimizer: {{name: adam, lr: 0.01}}
  schedule: {{name: multistep, milestones: [2], warmup: {{steps: 3, factor: 0.1}}}}
  log_every: 2
evaluate: {{every: 2}}
"""


@pytest.fixture
def tiny_recipe(tmp_path: Path, tiny_market: Path) -> Path:
    """A recipe file for the tiny world: 4 epochs of 4 steps."""
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY_CONFIG.format(root=tiny_market.as_posix()), encoding="utf-8")
    return path


@pytest.fixture
def tiny_config(tiny_recipe: Path, tmp_path: Path) -> Config:
    """The recipe, loaded, with a run folder in the test's own folder."""
    torch.manual_seed(0)
    return load_config(tiny_recipe, {"output": str(tmp_path / "run")})
