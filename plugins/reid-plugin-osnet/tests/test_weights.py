from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from reid_core.errors import CheckpointError
from reid_plugin_osnet.network import OSNet
from reid_plugin_osnet.osnet import osnet_x0_5, osnet_x0_25
from reid_plugin_osnet.osnet_ain import osnet_ain_x0_25
from reid_plugin_osnet.osnet_ibn import osnet_ibn_x0_25


def released(seed: int = 0) -> dict[str, Tensor]:
    """Return a state dict as a trained torchreid model has it: with a classifier."""
    torch.manual_seed(seed)
    state = dict(osnet_x0_25().state_dict())
    state["classifier.weight"] = torch.randn(7, 512)
    state["classifier.bias"] = torch.randn(7)
    return state


def assert_holds(model: torch.nn.Module, state: dict[str, Tensor]) -> None:
    for name, value in model.state_dict().items():
        assert torch.equal(value, state[name]), name


@pytest.mark.parametrize("layout", ["raw", "state_dict", "model", "module_prefix"])
def test_common_layouts_load(tmp_path: Path, layout: str):
    state = released()
    content: object = {
        "raw": state,
        "state_dict": {"state_dict": state, "epoch": 150, "rank1": 0.9},
        "model": {"model": state},
        "module_prefix": {"state_dict": {f"module.{k}": v for k, v in state.items()}},
    }[layout]
    path = tmp_path / "model.pth.tar-150"
    torch.save(content, path)
    assert_holds(osnet_x0_25(weights=str(path)), state)


def test_safetensors_load(tmp_path: Path):
    state = released()
    save_file(state, tmp_path / "osnet.safetensors")
    assert_holds(osnet_x0_25(weights=str(tmp_path / "osnet.safetensors")), state)


def test_the_map_leaves_the_embedding_layer_of_the_file_out(tmp_path: Path):
    state = released()
    torch.save(state, tmp_path / "osnet.pth")
    assert_holds(osnet_x0_25(embedding="map", weights=str(tmp_path / "osnet.pth")), state)


def test_what_was_loaded_and_left_out_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    torch.save(released(), tmp_path / "osnet.pth")
    with caplog.at_level(logging.INFO, logger="reid_plugin_osnet"):
        osnet_x0_25(weights=str(tmp_path / "osnet.pth"))
    assert "100.0%" in caplog.text
    assert "classifier.weight" in caplog.text


def test_weights_of_another_width_are_refused_with_the_share_that_fits(tmp_path: Path):
    torch.save(released(), tmp_path / "osnet.pth")
    with pytest.raises(CheckpointError) as caught:
        osnet_x0_5(weights=str(tmp_path / "osnet.pth"))
    message = str(caught.value)
    assert "conv1.conv.weight (16, 3, 7, 7) against (32, 3, 7, 7)" in message
    assert "% of the parameters" in message


def test_a_missing_and_an_unexpected_key_are_both_named(tmp_path: Path):
    state = released()
    state["conv6.conv.weight"] = state.pop("conv5.conv.weight")
    torch.save(state, tmp_path / "osnet.pth")
    with pytest.raises(CheckpointError) as caught:
        osnet_x0_25(weights=str(tmp_path / "osnet.pth"))
    assert "conv5.conv.weight" in str(caught.value)
    assert "conv6.conv.weight" in str(caught.value)


def test_a_misspelt_path_shows_the_nearest_file(tmp_path: Path):
    torch.save(released(), tmp_path / "osnet_x0_25_msmt17.pth")
    with pytest.raises(CheckpointError, match=r"did you mean .*osnet_x0_25_msmt17\.pth"):
        osnet_x0_25(weights=str(tmp_path / "osnet_x0_25_msmt71.pth"))


@pytest.mark.parametrize(
    ("saved", "loaded"),
    [
        (osnet_x0_25, osnet_ibn_x0_25),
        (osnet_ain_x0_25, osnet_x0_25),
        (osnet_x0_25, osnet_ain_x0_25),
    ],
)
def test_weights_of_a_relative_are_refused(
    saved: Callable[..., OSNet], loaded: Callable[..., OSNet], tmp_path: Path
):
    torch.save(saved().state_dict(), tmp_path / "osnet.pth")
    with pytest.raises(CheckpointError, match="conv2"):
        loaded(weights=str(tmp_path / "osnet.pth"))


@pytest.mark.parametrize("factory", [osnet_ibn_x0_25, osnet_ain_x0_25])
def test_weights_with_instance_norm_load(factory: Callable[..., OSNet], tmp_path: Path):
    torch.manual_seed(1)
    state = dict(factory().state_dict())
    torch.save(state, tmp_path / "osnet.pth")
    torch.manual_seed(2)
    assert_holds(factory(weights=str(tmp_path / "osnet.pth")), state)
