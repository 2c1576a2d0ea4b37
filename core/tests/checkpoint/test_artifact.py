"""The description in a weights file can be changed; its tensors stay as they are."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from reid_core.checkpoint.artifact import read_info, update_info, write_weights
from reid_core.errors import CheckpointError

STATE = {"head.weight": torch.randn(3, 5), "backbone.bias": torch.arange(7, dtype=torch.float16)}


def tensor_bytes(path):
    content = path.read_bytes()
    return content[8 + int.from_bytes(content[:8], "little") :]


def test_a_threshold_is_noted_and_all_else_stays(tmp_path):
    path = tmp_path / "last.safetensors"
    write_weights(path, STATE, {"step": 7, "config": {"seed": 1}})
    before = tensor_bytes(path)
    update_info(path, {"threshold": {"value": 0.25}})
    assert read_info(path) == {"step": 7, "config": {"seed": 1}, "threshold": {"value": 0.25}}
    assert tensor_bytes(path) == before
    assert all(torch.equal(load_file(path)[key], value) for key, value in STATE.items())
    update_info(path, {"threshold": {"value": 0.5, "source": "x" * 1000}})
    assert read_info(path)["threshold"]["value"] == 0.5
    assert tensor_bytes(path) == before
    header = int.from_bytes(path.read_bytes()[:8], "little")
    assert header % 8 == 0
    json.loads(path.read_bytes()[8 : 8 + header])
    assert [one.name for one in tmp_path.iterdir()] == ["last.safetensors"]


def test_weights_of_other_tools_are_left_alone(tmp_path):
    path = tmp_path / "other.safetensors"
    save_file(STATE, path)
    with pytest.raises(CheckpointError, match="was not written by a run"):
        update_info(path, {"threshold": 1})
