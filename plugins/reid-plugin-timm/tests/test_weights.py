from __future__ import annotations

import logging
from pathlib import Path

import pytest
import timm
import torch
from torch import Tensor
from torch.nn.functional import interpolate
from torchvision.models import resnet18

from reid_core.errors import CheckpointError
from reid_plugin_timm.build import build_network
from reid_plugin_timm.weights import load_weights

WEIGHTS = Path(__file__).resolve().parents[4] / "shared" / "data" / "weights"
needs_weights = pytest.mark.skipif(not WEIGHTS.is_dir(), reason=f"no weights at {WEIGHTS}")


def build(name: str, size: tuple[int, int] = (128, 64)) -> torch.nn.Module:
    return build_network(name, size, pretrained=False, drop_path_rate=None)


def resized_grid(table: Tensor, old: tuple[int, int], new: tuple[int, int]) -> Tensor:
    """Resize a position table (1, 1 + h · w, C) channel by channel; the class token stays."""
    grid = table[0, 1:].reshape(*old, -1)
    planes = [
        interpolate(plane[None, None], size=new, mode="bicubic", antialias=True)[0, 0]
        for plane in grid.permute(2, 0, 1)
    ]
    return torch.cat([table[:, :1], torch.stack(planes, dim=-1).reshape(1, new[0] * new[1], -1)], 1)


@needs_weights
@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("tf_efficientnet_lite0", "efficientnet_lite0_imagenet_timm.pth"),
        ("mobilenetv2_100", "mobilenet_v2_imagenet_features_torchvision.pth"),
    ],
)
def test_imagenet_weights_fill_every_parameter(
    name: str, file: str, caplog: pytest.LogCaptureFixture
):
    network = build(name)
    before = {key: p.clone() for key, p in network.named_parameters()}
    with caplog.at_level(logging.INFO, logger="reid_plugin_timm"):
        report = load_weights(network, str(WEIGHTS / file)).report
    assert report.loaded_share == 1.0
    assert "loaded 100.0% of the parameters" in caplog.text
    assert all(not torch.equal(p, before[key]) for key, p in network.named_parameters())


def test_a_position_table_is_resized_on_both_axes_and_keeps_the_class_token(tmp_path: Path):
    square = timm.create_model("vit_tiny_patch16_224", depth=2)
    torch.save(square.state_dict(), tmp_path / "vit.pth")
    network = build_network(
        "vit_tiny_patch16_224", (128, 64), pretrained=False, drop_path_rate=None
    )
    network.blocks = network.blocks[:2]

    report = load_weights(network, str(tmp_path / "vit.pth")).report

    expected = resized_grid(square.pos_embed.detach(), (14, 14), (8, 4))
    assert network.pos_embed.shape == (1, 33, 192)
    assert torch.equal(network.pos_embed[:, 0], square.pos_embed[:, 0])
    torch.testing.assert_close(network.pos_embed.detach(), expected, rtol=1e-4, atol=1e-6)
    assert torch.equal(network.blocks[1].mlp.fc1.weight, square.blocks[1].mlp.fc1.weight)
    assert set(report.ignored) == {"head.weight", "head.bias"}


def test_torchvision_resnets_load_under_their_own_names(tmp_path: Path):
    theirs = resnet18(weights=None)
    torch.save(theirs.state_dict(), tmp_path / "resnet18.pth")
    network = build("resnet18")
    report = load_weights(network, str(tmp_path / "resnet18.pth")).report
    assert report.loaded_share == 1.0
    assert torch.equal(network.layer4[1].conv2.weight, theirs.layer4[1].conv2.weight)


def test_both_classifiers_of_a_distilled_model_are_left_out(tmp_path: Path):
    whole = timm.create_model("deit_tiny_distilled_patch16_224")
    torch.save(whole.state_dict(), tmp_path / "deit.pth")
    report = load_weights(
        build("deit_tiny_distilled_patch16_224"), str(tmp_path / "deit.pth")
    ).report
    assert {key.rpartition(".")[0] for key in report.ignored} == {"head", "head_dist"}


def test_weights_of_another_depth_are_refused_with_names_and_share(tmp_path: Path):
    torch.save(timm.create_model("resnet18").state_dict(), tmp_path / "resnet18.pth")
    with pytest.raises(CheckpointError) as caught:
        load_weights(build("resnet34"), str(tmp_path / "resnet18.pth"))
    assert "layer1.2.conv1.weight" in str(caught.value)
    assert "% of the parameters match" in str(caught.value)


def test_a_file_that_timm_cannot_convert_is_refused(tmp_path: Path):
    whole = timm.create_model("test_vit").state_dict()
    whole["pos_embed"] = torch.zeros(1, 4, 4, 64)
    torch.save(whole, tmp_path / "vit.pth")
    with pytest.raises(CheckpointError, match=r"vit\.pth does not fit the model: timm's conv"):
        load_weights(build("test_vit"), str(tmp_path / "vit.pth"))


def test_a_misspelt_path_shows_the_nearest_file(tmp_path: Path):
    torch.save(timm.create_model("test_resnet").state_dict(), tmp_path / "resnet_a1.pth")
    with pytest.raises(CheckpointError, match=r"did you mean .*resnet_a1\.pth"):
        load_weights(build("test_resnet"), str(tmp_path / "resnet_a2.pth"))
