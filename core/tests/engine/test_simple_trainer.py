from __future__ import annotations

import pytest
import torch
from torch import nn

from reid_core.config.components import OptimizerConfig
from reid_core.contracts import Batch, TrainOutput
from reid_core.engine import SimpleTrainer
from reid_core.engine.step.loss_scaler import LossScaler
from reid_core.errors import ConfigError, TrainingError
from reid_core.hookspecs import hookimpl
from reid_core.optim import GradientClip, build_optimizer


class Model(nn.Module):
    def __init__(self, form="output"):
        super().__init__()
        self.layer = nn.Linear(4, 3)
        self.form = form

    def forward(self, batch):
        loss = nn.functional.cross_entropy(self.layer(batch.images), batch.pids)
        if self.form == "output":
            return TrainOutput({"ce": loss, "l2": 0.01 * self.layer.weight.square().sum()})
        return {"ce": loss, "twice": 2 * loss} if self.form == "mapping" else loss


def batches(count=5, size=6, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [
        Batch(
            images=torch.randn(size, 4, generator=generator),
            pids=torch.randint(0, 3, (size,), generator=generator),
            camids=torch.zeros(size, dtype=torch.int64),
            index=torch.arange(size),
        )
        for _ in range(count)
    ]


def test_it_equals_a_loop_written_by_hand():
    torch.manual_seed(0)
    model = Model()
    reference = Model()
    reference.load_state_dict(model.state_dict())
    data = batches()
    trainer = SimpleTrainer(model, data, torch.optim.Adam(model.parameters(), lr=0.01))
    trainer.train(0, 10)
    optimizer = torch.optim.Adam(reference.parameters(), lr=0.01)
    for batch in data * 2:
        optimizer.zero_grad()
        sum(reference(batch).losses.values()).backward()
        optimizer.step()
    for ours, theirs in zip(model.parameters(), reference.parameters(), strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("form", ["output", "mapping", "scalar"])
def test_a_model_may_return_an_output_a_mapping_or_a_scalar(form):
    model = Model(form)
    before = model.layer.weight.detach().clone()
    SimpleTrainer(model, batches(1), torch.optim.SGD(model.parameters(), lr=0.1)).train(0, 1)
    assert not torch.equal(before, model.layer.weight), "the step changed the weights"


def test_another_return_value_is_refused():
    class Wrong(nn.Module):
        def forward(self, batch):
            return [1.0]

    model = Wrong()
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.1)
    with pytest.raises(TrainingError, match="returned list without losses; expected a TrainOutput"):
        SimpleTrainer(model, batches(1), optimizer).train(0, 1)


def test_an_empty_epoch_and_a_loader_without_length_are_refused():
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(ConfigError, match="0 batches"):
        SimpleTrainer(model, [], optimizer)
    with pytest.raises(ConfigError, match="has no length"):
        SimpleTrainer(model, iter(batches()), optimizer)


def test_a_loader_that_gives_less_than_it_promised_is_an_error_not_a_hang():
    class Short:
        def __len__(self):
            return 4

        def __iter__(self):
            return iter(batches(2))

    model = Model()
    trainer = SimpleTrainer(model, Short(), torch.optim.SGD(model.parameters(), lr=0.1))
    with pytest.raises(TrainingError, match="fewer batches than its length"):
        trainer.train(0, 4)


def test_losses_that_are_no_scalars_are_named():
    class PerSample(Model):
        def forward(self, batch):
            return {"mine": super().forward(batch).losses["ce"].expand(6)}

    model = PerSample()
    trainer = SimpleTrainer(model, batches(1), torch.optim.SGD(model.parameters(), lr=0.1))
    with pytest.raises(TrainingError, match=r"loss mine is \(6,\); expected a scalar"):
        trainer.train(0, 1)


def test_gradients_are_clipped_after_the_hooks_have_seen_them():
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    parameters = list(model.parameters())
    seen = []

    class Reader:
        @hookimpl
        def after_backward(self, trainer):
            seen.append(torch.nn.utils.get_total_norm([p.grad for p in parameters]).item())

        @hookimpl
        def after_step(self, result):
            seen.append(result.metrics["clip/gradient_norm"].item())

    clip = GradientClip(parameters, method="norm", limit=1e-3)
    trainer = SimpleTrainer(model, batches(1), optimizer, clip=clip)
    trainer.register_hooks([Reader()])
    before = [p.detach().clone() for p in parameters]
    trainer.train(0, 1)
    assert seen[0] == pytest.approx(seen[1], rel=1e-5)
    moved = torch.nn.utils.get_total_norm([a - b for a, b in zip(parameters, before, strict=True)])
    assert moved.item() == pytest.approx(0.1 * 1e-3, rel=1e-3)


def test_hooks_see_gradients_without_the_scale_and_the_weights_are_those_of_float32():
    torch.manual_seed(0)
    plain, scaled = Model(), Model()
    scaled.load_state_dict(plain.state_dict())
    norms = {}

    class Reader:
        @hookimpl
        def after_backward(self, trainer):
            gradients = [p.grad for p in trainer.model.parameters()]
            norms.setdefault(id(trainer.model), []).append(
                torch.nn.utils.get_total_norm(gradients).item()
            )

    for model, scaler in ((plain, None), (scaled, LossScaler(torch.device("cpu")))):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        trainer = SimpleTrainer(model, batches(), optimizer, scaler=scaler)
        trainer.register_hooks([Reader()])
        trainer.train(0, 5)
        assert trainer.skipped_steps == 0
    assert norms[id(scaled)] == pytest.approx(norms[id(plain)], rel=1e-5)
    for ours, theirs in zip(plain.parameters(), scaled.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-7)


class WithCenters(nn.Module):
    """A metric loss that owns its centres, and undoes its weight in their gradient."""

    def __init__(self, weight=5e-4):
        super().__init__()
        self.layer = nn.Linear(4, 3)
        self.centers = nn.Parameter(torch.zeros(3, 3))
        self.weight = weight

    def forward(self, batch):
        gap = self.layer(batch.images) - self.centers[batch.pids]
        return {"center": self.weight * gap.square().sum(dim=1).mean()}

    def parameter_groups(self):
        return [{"params": [self.centers], "lr": 0.5 / self.weight}]


def test_an_update_of_centres_is_that_of_float32():  # B117
    updates = []
    for scaler in (None, LossScaler(torch.device("cpu"), scale=65536.0)):
        torch.manual_seed(0)
        model = WithCenters()
        optimizer = build_optimizer(OptimizerConfig(name="sgd", weight_decay=0.0), model)
        SimpleTrainer(model, batches(1), optimizer, scaler=scaler).train(0, 1)
        updates.append(model.centers.detach())
    assert updates[0].abs().max() > 0.1
    torch.testing.assert_close(updates[1], updates[0], rtol=1e-3, atol=0.0)
