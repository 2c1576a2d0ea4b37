"""What train.optimizer and train.clip_gradients do in a run."""

from __future__ import annotations

import json
import logging

import pytest
import torch

from reid_core.config import load_config
from reid_core.engine import DefaultTrainer
from reid_core.engine.check import check_config
from reid_core.errors import ConfigError


def run(tiny_recipe, tmp_path, **settings):
    overrides = {key.replace("__", "."): value for key, value in settings.items()}
    config = load_config(tiny_recipe, {"output": str(tmp_path / "run"), **overrides})
    trainer = DefaultTrainer(config)
    before = {name: value.clone() for name, value in trainer.model.state_dict().items()}
    trainer.train()
    return trainer, before


def test_frozen_layers_are_bitwise_the_same_after_training_and_evaluations(tiny_recipe, tmp_path):
    settings = {"train__optimizer__frozen": ["backbone.*"], "evaluate__every": 1}
    trainer, before = run(tiny_recipe, tmp_path, **settings)
    after = trainer.model.state_dict()
    changed = {name for name, value in before.items() if not torch.equal(value, after[name])}
    assert changed == {"head.classifier.weight", "head.classifier.bias"}
    assert after["backbone.norm.num_batches_tracked"] == 0


def test_frozen_layers_stay_frozen_in_a_resumed_run(tiny_recipe, tmp_path):
    settings = {"train__optimizer__frozen": ["backbone.norm.*"], "train__epochs": 1}
    trainer, _ = run(tiny_recipe, tmp_path, **settings)
    config = load_config(
        tiny_recipe,
        {"output": str(tmp_path / "run"), "train.optimizer.frozen": ["backbone.norm.*"]},
    )
    resumed = DefaultTrainer(config)
    resumed.resume_or_load("auto", changes="use")
    resumed.train()
    for key, value in trainer.model.backbone.norm.state_dict().items():
        assert torch.equal(value, resumed.model.backbone.norm.state_dict()[key]), key
    assert not torch.equal(trainer.model.backbone.conv.weight, resumed.model.backbone.conv.weight)


def test_the_groups_are_listed_at_the_start(tiny_recipe, tmp_path, caplog):
    with caplog.at_level(logging.INFO, "reid_core"):
        run(tiny_recipe, tmp_path, train__optimizer__bias_lr_factor=2, train__epochs=1)
    lines = [record.getMessage() for record in caplog.records]
    start = lines.index("optimizer adam")
    assert lines[start + 1].split()[:3] == ["group", "tensors", "parameters"]
    rows = [" ".join(line.split()) for line in lines[start + 2 : start + 4]]
    assert rows == [
        "lr x1, decay 0.0005 3 656 0.01 0.0005",
        "lr x2, decay 0.0005 3 22 0.02 0.0005",
    ]


def test_the_logged_rate_is_that_before_the_factors_of_the_groups(tiny_recipe, tmp_path):
    settings = {"train__optimizer__head_lr_factor": 10, "train__schedule": {"name": "constant"}}
    trainer, _ = run(tiny_recipe, tmp_path, **settings, train__optimizer__bias_lr_factor=2)
    text = (trainer.folder.path / "metrics.jsonl").read_text()
    rates = [row["lr"] for row in map(json.loads, text.splitlines()) if "lr" in row]
    assert rates[-1] == pytest.approx(0.01)
    groups = [group["lr"] for group in trainer.optimizer.param_groups]
    assert sorted(groups) == pytest.approx([0.01, 0.02, 0.1, 0.2])


def test_the_norm_before_clipping_is_logged(tiny_recipe, tmp_path):
    clip = {"method": "norm", "limit": 1e-6}
    trainer, _ = run(tiny_recipe, tmp_path, train__clip_gradients=clip)
    text = (trainer.folder.path / "metrics.jsonl").read_text()
    norms = [row["clip/gradient_norm"] for row in map(json.loads, text.splitlines()) if "lr" in row]
    assert len(norms) == 8
    assert min(norms) > 1e-6
    total = torch.nn.utils.get_total_norm([p.grad for p in trainer.model.parameters()])
    assert total.item() == pytest.approx(1e-6, rel=1e-3)


def test_a_pattern_without_a_match_ends_the_run_before_its_first_step(tiny_recipe, tmp_path):
    with pytest.raises(ConfigError, match=r"'backbon.\*' matches none of .*near it: backbone"):
        run(tiny_recipe, tmp_path, train__optimizer__frozen=["backbon.*"])
    assert not (tmp_path / "run").exists()


def test_an_epoch_without_a_batch_is_refused_before_training(tiny_recipe, tmp_path):  # B091
    with pytest.raises(ConfigError, match="0 batches per epoch"):
        run(tiny_recipe, tmp_path, data__batch={"sampler": "random", "size": 64})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"train.optimizer": {"name": "sgd", "nesterov": True}}, "optimizer sgd: Nesterov"),
        ({"train.schedule": {"name": "one_cycle", "warmup": {"steps": 9}}}, "remove the warm-up"),
        ({"train.clip_gradients": {"limit": 0}}, "greater than 0"),
        ({"train.optimizer.layer_decay": 1.5}, "less than or equal to 1"),
    ],
)
def test_wrong_settings_are_told_before_data_is_read(tiny_recipe, settings, message):
    with pytest.raises(ConfigError, match=message):
        check_config(load_config(tiny_recipe, settings))
