"""A configuration that changed: seen, and decided about, before data is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from reid_core.config import load_config
from reid_core.engine import DefaultTrainer
from reid_core.engine.record.run_folder import RunFolder
from reid_core.engine.resuming.changes import changes_of, settled_config
from reid_core.errors import CheckpointError, UsageError


@pytest.fixture
def saved(tiny_recipe, tmp_path):
    """What a run of one epoch leaves: its recipe and its settings."""
    settings = {"output": str(tmp_path / "run"), "train.epochs": 1, "evaluate.every": 0}
    settings |= {"train.schedule.warmup": None, "default_hooks": ["checkpoint"]}
    DefaultTrainer(load_config(tiny_recipe, settings)).train()
    return tiny_recipe, settings


def config_of(saved, **changes):
    recipe, settings = saved
    plain = {key.replace("__", "."): value for key, value in changes.items()}
    return load_config(recipe, {**settings, **plain})


def folder_of(saved):
    return RunFolder(Path(saved[1]["output"]))


# B094
def test_every_change_is_listed_with_both_values_and_what_to_type(saved):
    config = config_of(saved, train__epochs=4, optimizer__lr=0.02)
    with pytest.raises(UsageError) as caught:
        settled_config(config, "auto", folder_of(saved), None)
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("the configuration is not the one that ")
    assert "step_00000004.pt" in lines[0]
    assert lines[1:3] == [
        "  train.epochs: was 1, is 4 now",
        "  train.optimizer.lr: was 0.01, is 0.02 now",
    ]
    assert "add --changes use (a schedule that ends with the run is stretched" in lines[3]
    assert "add --changes drop" in lines[3]
    assert caught.value.exit_code == 2
    assert settled_config(config, "auto", folder_of(saved), "use") is config


def test_dropped_changes_leave_the_run_as_it_was_but_for_what_changes_no_result(saved, caplog):
    config = config_of(saved, optimizer__lr=0.02, data__workers=1, train__log_every=1)
    settled = settled_config(config, "auto", folder_of(saved), "drop")
    expected = config_of(saved, data__workers=1, train__log_every=1)
    assert settled.plain() == expected.plain()
    assert settled.name == config.name
    assert "train.optimizer.lr stays 0.01; 0.02 is dropped" in caplog.text


@pytest.mark.parametrize(
    "change",
    [{"data__workers": 2}, {"device": "cpu"}, {"train__log_every": 7}, {"description": "x"}],
)
def test_what_changes_no_result_needs_no_decision(saved, change):
    config = config_of(saved, **change)
    assert changes_of(config_of(saved).plain(), config)
    assert settled_config(config, "auto", folder_of(saved), None) is config


@pytest.mark.parametrize("change", [{"seed": 1}, {"precision": "bf16"}, {"data__transforms": []}])
def test_what_changes_a_result_needs_one(saved, change):
    with pytest.raises(UsageError, match="add --changes use"):
        settled_config(config_of(saved, **change), "auto", folder_of(saved), None)


def test_a_setting_that_is_newer_than_the_checkpoint_is_no_change(saved):
    plain = config_of(saved).plain()
    del plain["train"]["on_nan"]
    assert changes_of(plain, config_of(saved)) == []
    (change,) = changes_of(plain, config_of(saved, train__on_nan="skip"))
    assert (change.path, change.was, change.now) == ("train.on_nan", "stop", "skip")
    plain["gone"] = 3
    paths = [change.path for change in changes_of(plain, config_of(saved))]
    assert "gone" in paths, "one that is not known any more is a change"


def test_without_a_run_there_is_nothing_to_decide(saved, tmp_path):
    config, empty = config_of(saved), RunFolder(tmp_path)
    assert settled_config(config, None, empty, None) is config
    assert settled_config(config, "auto", empty, "use") is config
    with pytest.raises(UsageError, match="--changes use is about a run that is resumed"):
        settled_config(config, None, empty, "use")
    with pytest.raises(CheckpointError, match=r"best\.pth not found"):
        settled_config(config, str(tmp_path / "best.pth"), empty, None)


def test_a_trainer_asks_too_and_cannot_drop_what_it_is_built_with(saved, tmp_path, caplog):
    changed = DefaultTrainer(config_of(saved, optimizer__lr=0.02, output=str(tmp_path / "b")))
    with pytest.raises(UsageError, match=r'resume_or_load\(…, changes="use"\)'):
        changed.resume_or_load(folder_of(saved).path)
    with pytest.raises(UsageError, match=r"too late: .*\(train.optimizer.lr\).*load_config"):
        changed.resume_or_load(folder_of(saved).path, changes="drop")
    assert changed.start_iter == 0
    changed.resume_or_load(folder_of(saved).path, changes="use")
    assert "train.optimizer.lr is 0.02 now, was 0.01 in the checkpoint" in caplog.text
    assert changed.optimizer.param_groups[0]["initial_lr"] == 0.02
