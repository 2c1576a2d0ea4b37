from __future__ import annotations

import json
import math

import pytest
import torch

from reid_core.config import load_config
from reid_core.engine import DefaultTrainer
from reid_core.errors import ConfigError
from reid_core.hookspecs import hookimpl
from reid_core.testing import write_tiny_market
from reid_plugin_hooks.gradient_norm import GradientNorm


class SlowNorm:
    """The same, one number after the other."""

    def __init__(self):
        self.norms = {}

    @hookimpl
    def after_backward(self, trainer, step):
        total = 0.0
        for parameter in trainer.model.parameters():
            if parameter.grad is not None:
                total += sum(g * g for g in parameter.grad.double().flatten().tolist())
        self.norms[step + 1] = math.sqrt(total)


class Doubler:
    """Changes the gradients after they were measured."""

    @hookimpl
    def after_backward(self, trainer):
        for parameter in trainer.model.parameters():
            if parameter.grad is not None:
                parameter.grad.mul_(2)


@pytest.fixture
def trained(tmp_path):
    root = write_tiny_market(tmp_path / "market")
    config = load_config(
        "osnet/osnet_x0_25",
        {
            "data.train": {"name": "market1501", "root": str(root)},
            "data.image_size": [32, 16],
            "data.batch": {"identities": 3, "instances": 4},
            "data.workers": 0,
            "train.epochs": 1,
            "train.schedule": {"name": "constant"},
            "evaluate": {"every": 0, "at_start": False},
            "hooks": [{"name": "gradient_norm", "every": 2}],
            "output": str(tmp_path / "run"),
        },
    )
    trainer = DefaultTrainer(config)
    reference = SlowNorm()
    trainer.register_hooks([reference, Doubler()])
    trainer.train()
    rows = [json.loads(line) for line in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    return {r["step"]: r["gradient_norm"] for r in rows if "gradient_norm" in r}, reference.norms


def test_it_logs_the_norm_of_every_nth_step_before_others_change_the_gradient(trained):
    logged, expected = trained
    assert list(logged) == [2, 4]
    for step, norm in logged.items():
        assert norm == pytest.approx(expected[step], rel=1e-5)
    assert norm > 0


def test_a_model_without_gradients_has_the_norm_zero():
    class Trainer:
        model = torch.nn.Linear(2, 2)
        logged: dict[str, float]

        def log_scalars(self, step, scalars):
            self.logged = scalars

    hook, trainer = GradientNorm(every=1), Trainer()
    hook.after_backward(trainer, 0)
    hook.after_step(trainer, 0)
    assert trainer.logged == {"gradient_norm": 0.0}


def test_a_period_below_one_is_refused():
    with pytest.raises(ConfigError, match="every is 0; expected at least 1"):
        GradientNorm(every=0)
