"""Weights evaluated again give the figures that their run gave."""

import shutil

import numpy as np
import pytest
import torch

from reid_core.checkpoint.weights import read_state_dict
from reid_core.config import load_config
from reid_core.engine import DefaultTrainer
from reid_core.engine.evaluation.measure import evaluate_model
from reid_core.engine.evaluation.weights import load_model
from reid_core.engine.record.weights_info import WeightsInfo
from reid_core.errors import CheckpointError, DataError


@pytest.mark.parametrize("channels_last", [True, False])
def test_the_memory_layout_of_training_is_kept(tiny_recipe, tmp_path, channels_last):
    config = load_config(
        tiny_recipe,
        {"output": str(tmp_path / "run"), "train.channels_last": channels_last},
    )
    trainer = DefaultTrainer(config)
    trainer.resume_or_load()
    trainer.train()
    path = trainer.folder.path / "weights" / "last.safetensors"
    model = load_model(config, path)
    for ours, theirs in zip(model.parameters(), trainer.model.parameters(), strict=False):
        assert ours.stride() == theirs.stride()
    assert read_state_dict(path)
    (again,) = evaluate_model(config, model, WeightsInfo.of(path))
    assert again.metrics == trainer.results.latest()["market1501"]


def test_a_test_set_whose_queries_are_all_broken_is_said_to_be(tiny_recipe, tiny_market, tmp_path):
    root = tmp_path / "copy"
    shutil.copytree(tiny_market, root)
    changes = {
        "output": str(tmp_path / "run"),
        "data.broken_images": "skip",
        "data.train": [{"name": "market1501", "root": str(root)}],
    }
    trainer = DefaultTrainer(load_config(tiny_recipe, changes))
    for path in (root / "query").iterdir():
        path.write_bytes(b"")
    with pytest.raises(DataError, match=r"all \d+ query images are broken"):
        trainer.test()


def test_a_run_on_a_set_of_another_name_is_told_so_when_it_is_resumed(tiny_recipe, tmp_path):
    output = {"output": str(tmp_path / "run")}
    train = load_config(tiny_recipe).plain()["data"]["train"][0]
    trainer = DefaultTrainer(load_config(tiny_recipe, output))
    trainer.resume_or_load()
    trainer.train()
    renamed = {**output, "data.train": [{**train, "title": "mine"}]}
    with pytest.raises(CheckpointError, match=r"data set called market1501; data\.train calls it"):
        DefaultTrainer(load_config(tiny_recipe, renamed)).resume_or_load("auto", changes="use")
    assert np.isfinite(trainer.results.best.value)


def test_the_size_of_images_is_said_of_weights_that_do_not_say_it(tiny_recipe, tmp_path, caplog):
    config = load_config(tiny_recipe, {"output": str(tmp_path / "run")})
    trainer = DefaultTrainer(config)
    trainer.resume_or_load()
    trainer.train()
    own = trainer.folder.path / "weights" / "last.safetensors"
    other = tmp_path / "other.pth"
    torch.save(read_state_dict(own), other)
    height, width = config.data.image_size
    told = f"images are resized to {height}x{width} (data.image_size); weights of other toolboxes"
    with caplog.at_level("INFO"):
        load_model(config, own)
        assert told not in caplog.text
        load_model(config, other)
        assert caplog.text.count(told) == 1
