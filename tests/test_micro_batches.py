"""A batch in chunks trains as the whole batch does, with losses that compare images."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

from reid_core.contracts import HeadOutput
from reid_core.hookspecs import hookimpl
from reid_core.models import Baseline, WeightedLoss
from reid_core.testing.batches import tiny_reid_batch
from reid_core.testing.tiny_run import TinyRun, TinyTrainer
from reid_plugin_losses.center import CenterLoss
from reid_plugin_losses.circle import CircleLoss
from reid_plugin_losses.contrastive_memory import ContrastiveMemoryLoss
from reid_plugin_losses.cross_entropy import CrossEntropyLoss
from reid_plugin_losses.triplet import TripletLoss

DIM = 8
#: How far weights may be apart after 12 steps; what was measured stands in docs/training.md.
NEAR = 1e-5


class Backbone(nn.Module):
    """Convolutions without batch statistics: images to maps (B, 8, h, w)."""

    feature_dim = DIM

    def __init__(self, dropout):
        super().__init__()
        # Distances do not depend on a last bias: its gradient is rounding alone, which AdamW would
        # make whole steps of.
        last = nn.Conv2d(16, DIM, 2, bias=False)
        self.layers = nn.Sequential(
            nn.Conv2d(3, 16, 5, stride=4), nn.Dropout(dropout), nn.Tanh(), last
        )

    def forward(self, images):
        return self.layers(images)


class Head(nn.Module):
    embedding_dim = DIM

    def __init__(self, num_classes):
        super().__init__()
        self.classifier = nn.Linear(DIM, num_classes)

    def forward(self, features, pids=None):
        pooled = features.mean(dim=(2, 3))
        logits = {"global": self.classifier(pooled)}
        return HeadOutput(embedding=pooled, features={"global": pooled}, logits=logits)


LOSSES = {
    "cross_entropy": lambda classes: CrossEntropyLoss(label_smoothing=0.1),
    "triplet": lambda classes: TripletLoss(margin=0.3),
    "circle": lambda classes: CircleLoss(),
    "contrastive_memory": lambda classes: ContrastiveMemoryLoss(feature_dim=DIM, memory_size=30),
    "center": lambda classes: CenterLoss(num_classes=classes, feature_dim=DIM),
}


class Record:
    @hookimpl
    def after_step(self, trainer, result):
        self.steps = [*getattr(self, "steps", []), result]


class Trainer(TinyTrainer):
    names: tuple[str, ...] = ()
    dropout = 0.0

    def build_model(self):
        torch.manual_seed(5)
        classes = self.label_map.num_classes
        losses = [WeightedLoss(name, LOSSES[name](classes), 0.5) for name in self.names]
        return Baseline(backbone=Backbone(self.dropout), head=Head(classes), losses=losses)


def trained(tmp_path, names, micro_batch=None, dropout=0.0, **settings):
    plain = {
        "train.epochs": 3,
        "train.optimizer.name": "adamw",
        "train.micro_batch": micro_batch,
        "evaluate.every": 0,
        "default_hooks": [],
        "output": str(tmp_path / f"run{micro_batch}"),
        **settings,
    }
    kind = type("Case", (Trainer,), {"names": tuple(names), "dropout": dropout})
    trainer = kind(TinyRun(settings=plain).config(tmp_path))
    record = Record()
    trainer.register_hooks([record])
    trainer.train()
    return trainer, record.steps


def distance(one, other):
    """Return the largest relative difference of two trainers' weights and buffers."""
    theirs = other.model.state_dict()
    return max(
        float((value - theirs[name]).float().norm() / theirs[name].float().norm().clamp_min(1e-8))
        for name, value in one.model.state_dict().items()
    )


CASES = {name: ([name], (5,)) for name in LOSSES} | {"all": (list(LOSSES), (1, 6))}


@pytest.mark.parametrize("case", CASES)
def test_chunks_train_as_the_whole_batch(tmp_path, case):
    names, sizes = CASES[case]
    whole, steps = trained(tmp_path, names)
    for size in sizes:
        chunks, theirs = trained(tmp_path, names, size)
        assert distance(chunks, whole) < NEAR
        for one, other in zip(theirs, steps, strict=True):
            assert one.losses.keys() == other.losses.keys()
            torch.testing.assert_close(one.loss, other.loss, rtol=NEAR, atol=0)
            assert one.metrics.keys() == other.metrics.keys()
            for name, value in one.metrics.items():
                torch.testing.assert_close(value, other.metrics[name], rtol=1e-4, atol=1e-5)


def test_ordinary_accumulation_is_not_the_same():
    """A batch of chunks that know nothing of each other has other hardest pairs."""
    torch.manual_seed(0)
    features = torch.randn(12, DIM)
    batch = tiny_reid_batch(identities=3, instances=4)
    loss = TripletLoss(margin=0.3)

    def value(rows):
        output = HeadOutput(embedding=features[rows], features={"global": features[rows]})
        return loss(output, replace(batch, pids=batch.pids[rows]))

    whole = value(torch.arange(12))
    accumulated = torch.stack([value(rows) for rows in torch.arange(12).split(6)]).mean()
    assert abs(accumulated - whole) > 0.1 * whole
