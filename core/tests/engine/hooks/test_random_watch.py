from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from reid_core.engine import StepResult, TrainerBase
from reid_core.engine.hooks.random_watch import WATCHED_STEPS
from reid_core.errors import PluginError
from reid_core.hookspecs import hookimpl


class Trainer(TrainerBase):
    def run_step(self, batch):
        torch.rand(1)  # as dropout does
        return StepResult(torch.tensor(1.0))


class Noisy:
    def __init__(self, draw, at=0):
        self.draw, self.at = draw, at

    @hookimpl
    def after_step(self, step):
        if step == self.at:
            self.draw()


def train(hook, steps=WATCHED_STEPS + 5):
    trainer = Trainer()
    trainer.hooks.add(hook, id="noisy")
    trainer.train(0, steps)
    return trainer


@pytest.mark.parametrize(
    ("draw", "library"),
    [
        (lambda: torch.rand(1), "torch"),
        (lambda: np.random.rand(), "NumPy"),
        (lambda: torch.manual_seed(0), "torch"),
    ],
    ids=["torch", "numpy", "seeding"],
)
def test_a_hook_that_moves_the_global_random_state_is_named(draw, library):
    with pytest.raises(PluginError) as caught:
        train(Noisy(draw))
    text = str(caught.value)
    assert "hook 'noisy'" in text
    assert f"changed the global random state of {library} in after_step" in text
    assert "numpy.random.default_rng()" in text


def test_the_tenth_step_is_still_watched_and_the_next_one_not():
    with pytest.raises(PluginError):
        train(Noisy(lambda: torch.rand(1), at=WATCHED_STEPS - 1))
    assert train(Noisy(lambda: torch.rand(1), at=WATCHED_STEPS)).iter == WATCHED_STEPS + 5


def test_every_run_is_watched_anew():
    trainer = train(Noisy(lambda: torch.rand(1), at=20))
    with pytest.raises(PluginError):
        trainer.train(15, 25)


def test_generators_of_its_own_and_pythons_are_a_hooks_own_business():
    generator = np.random.default_rng(0)

    def draw():
        generator.random()
        torch.rand(1, generator=torch.Generator().manual_seed(0))
        random.random()

    assert train(Noisy(draw)).iter == WATCHED_STEPS + 5


def test_a_hook_that_is_part_of_the_training_may_draw():
    class Mixup(Noisy):
        uses_random = True

    assert train(Mixup(lambda: torch.rand(1))).iter == WATCHED_STEPS + 5


def raises_after_drawing():
    np.random.rand()
    torch.rand(1)
    raise ValueError("broken")


@pytest.mark.parametrize(
    ("draw", "message"),
    [(lambda: torch.rand(1), "changed the global random state"), (raises_after_drawing, "broken")],
)
def test_an_observer_that_moves_it_is_switched_off_and_leaves_no_trace(draw, message, caplog):
    class Tracker(Noisy):
        observer = True

    def state_after(hook):
        torch.manual_seed(0)
        np.random.seed(0)
        train(hook)
        return torch.rand(1).item(), np.random.rand()

    assert state_after(Tracker(draw)) == state_after(Noisy(lambda: None))
    assert "is switched off" in caplog.text
    assert message in caplog.text


def test_a_draw_inside_of_a_hook_that_says_so_is_nobodys_fault():
    class Draws:
        uses_random = True

        @hookimpl
        def on_log(self):
            torch.rand(1)

    class Logs:
        @hookimpl
        def after_step(self, trainer, step):
            trainer.hooks.on_log(trainer=trainer, step=step, scalars={})

    trainer = Trainer()
    trainer.hooks.extend([("logs", Logs()), ("draws", Draws())])
    assert trainer.train(0, 3).status == "completed"
