from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from reid_core.errors import CheckpointError, ConfigError
from reid_plugin_timm.build import build_network


def build(name: str, size: tuple[int, int] = (128, 64), **given: object) -> torch.nn.Module:
    parameters = {"pretrained": False, "drop_path_rate": None, **given}
    return build_network(name, size, **parameters)  # type: ignore[arg-type]


def test_a_network_has_no_classifier():
    network = build("resnet18")
    assert not any(name.startswith("fc.") for name, _ in network.named_parameters())


def test_a_transformer_gets_a_position_table_for_the_image():
    network = build("test_vit")
    assert network.pos_embed.shape[1] == 1 + (128 // 16) * (64 // 16)


def test_stochastic_depth_reaches_the_blocks():
    network = build("test_vit", drop_path_rate=0.2)
    assert network.blocks[-1].drop_path1.drop_prob == pytest.approx(0.2)


def test_a_parameter_that_the_model_does_not_take_is_refused():
    with pytest.raises(ConfigError, match=r"'vgg11'.*drop_path_rate: 0\.1.*unexpected keyword"):
        build("vgg11", drop_path_rate=0.1)


def test_a_model_for_square_images_only_is_refused():
    with pytest.raises(ConfigError, match=r"'nest_tiny' for 128×64 images.*square"):
        build("nest_tiny")


def test_without_network_the_error_names_the_local_alternative(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(CheckpointError) as caught:
        build("resnet18.a1_in1k", pretrained=True)
    assert "could not fetch 'resnet18.a1_in1k'" in str(caught.value)
    assert "`weights: <local file>`" in str(caught.value)


def test_a_folder_of_the_hub_layout_loads_at_another_size(tmp_path: Path):
    square = build("test_vit", (160, 160))
    config = {
        "architecture": "test_vit",
        "num_classes": 0,
        "pretrained_cfg": {
            "input_size": [3, 160, 160],
            "fixed_input_size": True,
            "first_conv": "patch_embed.proj",
            "classifier": "head",
            "num_classes": 0,
        },
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    save_file(square.state_dict(), tmp_path / "model.safetensors")

    network = build(f"local-dir:{tmp_path}", pretrained=True)

    assert network.pos_embed.shape[1] == 33
    assert torch.equal(network.cls_token, square.cls_token)


def test_pixels_that_no_patch_covers_are_reported(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING, logger="reid_plugin_timm"):
        build("eva02_tiny_patch14_224")
    assert "14×14 patches cover only 126×56 of the 128×64 pixels" in caplog.text


def test_patches_that_fit_are_not_reported(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING, logger="reid_plugin_timm"):
        build("test_vit")
    assert caplog.text == ""
