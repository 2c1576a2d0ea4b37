"""Gradients in chunks against a loop that keeps all graphs at once."""

from __future__ import annotations

import itertools
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from reid_core.config import load_config
from reid_core.contracts import HeadOutput, TrainOutput
from reid_core.engine import DefaultTrainer
from reid_core.engine.step.head_outputs import joined
from reid_core.engine.step.loss_scaler import LossScaler
from reid_core.engine.step.micro_batches import MicroBatches
from reid_core.errors import ConfigError, PluginError
from reid_core.models import Baseline, WeightedLoss
from reid_core.testing.batches import tiny_reid_batch
from reid_core.testing.tiny_model import TinyBackbone, TinyHead, TinyLoss, tiny_model

BATCH = tiny_reid_batch(identities=4, instances=3)


class Spread(nn.Module):
    """A loss that compares all images, has weights, a buffer and draws of its own."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(8))
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, output, batch):
        self.calls += 1
        features = output.features["global"] * self.scale * torch.rand(8)
        same = batch.pids[:, None] == batch.pids
        distances = (features[:, None] - features).square().sum(dim=2)
        return distances[same].mean() + (1 - distances[~same]).relu().mean()

    def metrics(self):
        return {"calls": self.calls.clone()}


def model_of(*more):
    torch.manual_seed(1)
    losses = [WeightedLoss("tiny", TinyLoss()), WeightedLoss("spread", Spread(), 0.5), *more]
    head = TinyHead(feature_dim=8, num_classes=4)
    return Baseline(backbone=TinyBackbone(), head=head, losses=losses)


def trainer_of(model, *, dtype=None, scaler=None):
    @contextmanager
    def in_precision(batch):
        with torch.autocast("cpu", dtype=dtype, enabled=dtype is not None):
            yield batch

    return SimpleNamespace(model=model, in_precision=in_precision, scaler=scaler)


def gradients(model):
    return {name: parameter.grad for name, parameter in model.named_parameters()}


def by_hand(ends, dtype=None):
    """Compute the same with the graphs of all chunks in memory."""
    model = model_of()
    torch.manual_seed(7)
    outputs = []
    for start, stop in itertools.pairwise(ends):
        with torch.autocast("cpu", dtype=dtype, enabled=dtype is not None):
            features = model.backbone(BATCH.images[start:stop])
            outputs.append(model.head(features, BATCH.pids[start:stop]))
    result = model.losses.weighted(joined(outputs), BATCH)
    sum(result.losses.values()).backward()
    return model, result, torch.rand(3)


@pytest.mark.parametrize("dtype", [None, torch.bfloat16])
@pytest.mark.parametrize(
    ("size", "ends"), [(12, [0, 12]), (4, [0, 4, 8, 12]), (5, [0, 4, 8, 12]), (7, [0, 6, 12])]
)
def test_gradients_are_those_of_all_graphs_at_once(size, ends, dtype):
    model, expected, draws = by_hand(ends, dtype)
    chunked = model_of()
    torch.manual_seed(7)
    micro = MicroBatches(chunked, size)
    result = micro.compute_gradients(trainer_of(chunked, dtype=dtype), BATCH)
    assert torch.equal(torch.rand(3), draws), "random numbers go on as if drawn once"
    for name, value in gradients(model).items():
        torch.testing.assert_close(gradients(chunked)[name], value, rtol=1e-5, atol=1e-7, msg=name)
    for name, value in model.state_dict().items():
        assert torch.equal(chunked.state_dict()[name], value), f"{name} moved once a chunk"
    assert chunked.losses[1].calls == 1, "losses are computed once"
    for name, value in expected.losses.items():
        torch.testing.assert_close(result.losses[name], value, rtol=1e-6, atol=0)
    assert result.metrics.keys() == expected.metrics.keys()


def test_a_scaled_loss_gives_scaled_gradients():
    model, scaled = model_of(), model_of()
    for one, scaler in ((model, None), (scaled, LossScaler(torch.device("cpu"), scale=512.0))):
        torch.manual_seed(7)
        MicroBatches(one, 4).compute_gradients(trainer_of(one, scaler=scaler), BATCH)
    for name, value in gradients(model).items():
        torch.testing.assert_close(gradients(scaled)[name], 512 * value, rtol=1e-5, atol=1e-5)


class _Live:
    """Bytes of tensors that a graph keeps, and the most there ever were."""

    now = most = 0

    def __init__(self, tensor):
        self.tensor = tensor
        _Live.now += tensor.nbytes
        _Live.most = max(_Live.most, _Live.now)

    def __del__(self):
        _Live.now -= self.tensor.nbytes


def most_kept(compute):
    _Live.now = _Live.most = 0
    with torch.autograd.graph.saved_tensors_hooks(_Live, lambda kept: kept.tensor):
        compute()
    return _Live.most


def test_only_one_chunk_is_kept_at_a_time():
    whole, chunked = model_of(), model_of()
    trainer = trainer_of(chunked)

    def of_whole():
        sum(whole(BATCH).losses.values()).backward()

    of_chunks = most_kept(lambda: MicroBatches(chunked, 2).compute_gradients(trainer, BATCH))
    assert of_chunks < 0.3 * most_kept(of_whole)


def test_frozen_parts_get_no_gradient():
    model = model_of()
    model.backbone.requires_grad_(False)
    MicroBatches(model, 4).compute_gradients(trainer_of(model), BATCH)
    assert all(p.grad is None for p in model.backbone.parameters())
    assert model.head.classifier.weight.grad is not None


def test_a_model_with_losses_of_its_own_is_refused():
    class Own(nn.Module):
        pass

    with pytest.raises(
        ConfigError,
        match=r"train.micro_batch: model Own \(module .*\) computes its "
        "losses without WeightedLosses, so .* remove train.micro_batch",
    ):
        MicroBatches(Own(), 4)
    double = nn.ModuleList([tiny_model(4), tiny_model(4)])
    with pytest.raises(ConfigError, match="computes its losses in 2 WeightedLosses"):
        MicroBatches(double, 4)


def test_a_model_that_adds_to_its_losses_is_refused():
    class Adds(Baseline):
        def forward(self, batch):
            output = super().forward(batch)
            return TrainOutput({**output.losses, "mine": self.head.classifier.weight.sum()})

    head = TinyHead(feature_dim=8, num_classes=4)
    model = Adds(backbone=TinyBackbone(), head=head, losses=[WeightedLoss("tiny", TinyLoss())])
    with pytest.raises(ConfigError, match=r"model Adds .* adds to its losses"):
        MicroBatches(model, 4).compute_gradients(trainer_of(model), BATCH)


def test_a_head_without_a_row_for_each_image_is_refused():
    class Mean(TinyHead):
        def forward(self, features, pids=None):
            output = super().forward(features, pids)
            return HeadOutput(
                output.embedding,
                output.features,
                {"global": output.logits["global"].mean(0, keepdim=True)},
            )

    head = Mean(feature_dim=8, num_classes=4)
    model = Baseline(backbone=TinyBackbone(), head=head, losses=[WeightedLoss("tiny", TinyLoss())])
    with pytest.raises(PluginError, match=r"shape \(1, 4\) for 4 images; expected a row for each"):
        MicroBatches(model, 4).compute_gradients(trainer_of(model), BATCH)


def test_outputs_with_other_names_cannot_be_joined():
    row = torch.zeros(1, 2)
    one = HeadOutput(row, {"global": row})
    with pytest.raises(PluginError, match=r"\['features global'\] and \['features part'\]"):
        joined([one, HeadOutput(row, {"part": row})])


def test_a_run_in_chunks_is_resumed_exactly(tiny_recipe, tmp_path):
    settings = {"train.micro_batch": 5, "model.backbone.dropout": 0.2, "evaluate.every": 0}

    def run(name, epochs, resume=None):
        folder = {"output": str(tmp_path / name), "train.epochs": epochs}
        trainer = DefaultTrainer(load_config(tiny_recipe, {**settings, **folder}))
        trainer.resume_or_load(resume, **({} if resume is None else {"changes": "use"}))
        trainer.train()
        return trainer

    whole = run("whole", 2)
    run("cut", 1)
    resumed = run("cut", 2, "auto")
    for name, value in whole.model.state_dict().items():
        assert torch.equal(value, resumed.model.state_dict()[name]), name
