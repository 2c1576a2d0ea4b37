from __future__ import annotations

import pytest
import torch

from reid_core.hookspecs import hookimpl
from reid_plugin_hooks.rehearsal import _room_for_state, rehearse


class Rehearse:
    uses_random = False

    def __init__(self):
        self.losses = []

    @hookimpl
    def before_step(self, trainer, batch):
        rehearse(trainer, batch, list(trainer.model.parameters()))
        assert all(p.grad is None for p in trainer.model.parameters())


def test_a_run_with_rehearsals_is_bitwise_the_one_without(tiny, require_equal):
    plain, other = tiny(run="plain").run(), tiny()
    other.register_hooks([Rehearse()])
    other.run()
    require_equal(plain.model.state_dict(), other.model.state_dict())
    assert plain.results.latest() == other.results.latest()


def test_an_error_of_memory_says_what_it_was_about(tiny, monkeypatch):
    trainer = tiny()
    before = {name: value.clone() for name, value in trainer.model.state_dict().items()}
    batch = next(iter(trainer.batches(0, 0)))
    forward = trainer.forward

    def out_of_memory(batch):
        forward(batch)
        raise torch.OutOfMemoryError("tried to allocate 1 PiB")

    monkeypatch.setattr(trainer, "forward", out_of_memory)
    with pytest.raises(torch.OutOfMemoryError) as caught:
        rehearse(trainer, batch, [])
    assert "the steps after the release" in caught.value.__notes__[0]
    for name, value in trainer.model.state_dict().items():
        assert torch.equal(value, before[name]), name


def test_a_rehearsal_holds_as_many_images_at_once_as_a_step(tiny, monkeypatch):
    trainer = tiny(train__micro_batch=3)
    sizes = []
    trainer.model.register_forward_pre_hook(lambda model, given: sizes.append(len(given[0])))
    trainer.scaler = scaler = object()
    rehearse(trainer, next(iter(trainer.batches(0, 0))), [])
    assert sizes
    assert max(sizes) <= 3
    assert trainer.scaler is scaler


@pytest.mark.parametrize(
    ("make", "copies"),
    [
        (lambda p: torch.optim.Adam(p), 2),
        (lambda p: torch.optim.SGD(p, lr=1, momentum=0.9), 1),
        (lambda p: torch.optim.SGD(p, lr=1), 0),
        (lambda p: torch.optim.Adam(p[:1]), 1.5),
    ],
)
def test_room_is_made_for_what_the_optimizer_will_keep(make, copies):
    parameters = list(torch.nn.Linear(3, 2).parameters())
    room = _room_for_state(make(parameters), parameters)
    assert sum(tensor.numel() for tensor in room) == copies * 8
