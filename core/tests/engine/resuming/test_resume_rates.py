from __future__ import annotations

import json

import pytest

from reid_core.config import load_config
from reid_core.engine import DefaultTrainer


def rows_of(folder):
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return {row["step"]: (row["lr"], row["loss"]) for row in map(json.loads, lines)}


# B093
def test_the_rate_and_the_losses_after_a_milestone_are_those_of_the_whole_run(
    tiny_recipe, tmp_path
):
    settings = {
        "train.epochs": 80,
        "train.log_every": 1,
        "train.optimizer.lr": 3.5e-4,
        "train.schedule": {"name": "multistep", "milestones": [40, 70]},
        # An epoch is one step.
        "data.batch": {"sampler": "identity", "identities": 6, "instances": 8},
        "evaluate.every": 0,
        "default_hooks": ["lr_schedule", {"name": "checkpoint", "every": 41}, "metric_log"],
    }
    whole = DefaultTrainer(load_config(tiny_recipe, {**settings, "output": str(tmp_path / "a")}))
    assert len(whole.data_loader) == 1
    whole.train(0, 43)
    config = load_config(tiny_recipe, {**settings, "output": str(tmp_path / "b")})
    DefaultTrainer(config).train(0, 41)
    resumed = DefaultTrainer(config)
    resumed.resume_or_load("auto")
    assert (resumed.start_iter, resumed.epoch) == (41, 41)
    assert resumed.current_lr == pytest.approx(3.5e-5)
    resumed.train(max_iter=43)
    expected, found = rows_of(tmp_path / "a"), rows_of(tmp_path / "b")
    assert found[42][0] == pytest.approx(3.5e-5)
    assert found[40][0] == pytest.approx(3.5e-4)
    assert found == expected
