from __future__ import annotations

import logging

import pytest
import torch

from reid_core.errors import ConfigError
from reid_plugin_timm.backbone import TimmBackbone

SIZE = (64, 32)


def gradients(name: str, **parameters: object) -> tuple[dict[str, torch.Tensor], int]:
    """Return the gradients of one step, and how often a block ran forward."""
    torch.manual_seed(0)
    backbone = TimmBackbone(model_name=name, image_size=SIZE, **parameters)  # type: ignore[arg-type]
    runs = []
    layer = "layer2.0.conv1" if name.startswith("resnet") else "blocks.1.norm1"
    backbone.model.get_submodule(layer).register_forward_hook(lambda *_: runs.append(1))
    given = {name: torch.tensor([0, 1]) for name in backbone.conditions}
    backbone(torch.randn(2, 3, *SIZE), **given).square().mean().backward()
    found = {k: p.grad for k, p in backbone.named_parameters() if p.requires_grad}
    assert all(gradient is not None for gradient in found.values())
    return found, len(runs)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("resnet18", {}),
        ("resnet18", {"ibn": "a", "non_local": [0, 1, 2, 0]}),
        ("test_vit3", {}),
        ("test_vit3", {"drop_path_rate": 0.5}),
        ("test_vit3", {"sie": "camera", "num_cameras": 2}),
        ("eva02_tiny_patch14_224", {"sie": "camera", "num_cameras": 2}),
    ],
)
def test_gradients_are_those_without_checkpointing(name: str, parameters: dict[str, object]):
    plain, once = gradients(name, **parameters)
    checkpointed, twice = gradients(name, gradient_checkpointing=True, **parameters)
    assert (once, twice) == (1, 2)
    assert plain.keys() == checkpointed.keys()
    for key, gradient in plain.items():
        torch.testing.assert_close(checkpointed[key], gradient, rtol=1e-4, atol=1e-7, msg=key)


def test_batch_statistics_that_move_twice_are_reported(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING, logger="reid_plugin_timm"):
        TimmBackbone(model_name="test_vit", image_size=SIZE, gradient_checkpointing=True)
        assert caplog.text == ""
        TimmBackbone(model_name="test_resnet", image_size=SIZE, gradient_checkpointing=True)
    assert "moves its statistics twice" in caplog.text


def test_it_can_be_switched_on_and_off_later(caplog: pytest.LogCaptureFixture):
    backbone = TimmBackbone(model_name="test_vit", image_size=SIZE)
    network = backbone.model
    assert not network.grad_checkpointing
    backbone.set_grad_checkpointing()
    assert network.grad_checkpointing
    with caplog.at_level(logging.WARNING, logger="reid_plugin_timm"):
        backbone.set_grad_checkpointing(False)
    assert not network.grad_checkpointing
    assert caplog.text == ""


def test_a_model_without_checkpointing_is_refused():
    with pytest.raises(ConfigError, match=r"gradient_checkpointing: .*'dla34'.*Remove"):
        TimmBackbone(model_name="dla34", image_size=SIZE, gradient_checkpointing=True)
