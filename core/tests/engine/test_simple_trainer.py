from __future__ import annotations

import pytest
import torch
from torch import nn

from reid_core.contracts import Batch, TrainOutput
from reid_core.engine import SimpleTrainer
from reid_core.errors import ConfigError, TrainingError


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
