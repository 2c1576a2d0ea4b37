from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest
import timm
import torch
from torch import Tensor, nn

from reid_core.errors import CheckpointError
from reid_plugin_timm.backbone import TimmBackbone

SIZE = (64, 32)


def build(name: str, **parameters: object) -> TimmBackbone:
    return TimmBackbone(model_name=name, image_size=SIZE, **parameters)  # type: ignore[arg-type]


def as_fastreid(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Name a ResNet's tensors as FastReID does, in a whole model of it."""
    numbers: dict[str, int] = {}
    renamed = {"heads.bottleneck.0.weight": torch.ones(4), "pixel_mean": torch.zeros(1, 3, 1, 1)}
    for key, value in state.items():
        match = re.fullmatch(r"layer(\d)\.(\d+)_non_local\.(.+)", key)
        if match:
            stage = match[1]
            blocks = sorted({k for k in state if k.startswith(f"layer{stage}.") and "_non" in k})
            order = sorted({int(k.split(".")[1].split("_")[0]) for k in blocks})
            numbers[key] = order.index(int(match[2]))
            renamed[f"backbone.NL_{stage}.{numbers[key]}.{match[3]}"] = value
        elif key.endswith((".se.fc1.weight", ".se.fc2.weight")):
            number = "0" if ".fc1." in key else "2"
            prefix = key.rpartition(".fc")[0]
            renamed[f"backbone.{prefix}.fc.{number}.weight"] = value[:, :, 0, 0]
        elif not key.endswith((".se.fc1.bias", ".se.fc2.bias")):
            renamed[f"backbone.{key}"] = value
    return renamed


def assert_same(one: nn.Module, other: nn.Module) -> None:
    theirs = other.state_dict()
    assert one.state_dict().keys() == theirs.keys()
    assert [k for k, v in one.state_dict().items() if not torch.equal(v, theirs[k])] == []


@pytest.mark.parametrize("kind", ["a", "b"])
def test_ibn_weights_load_under_their_own_names(kind: str, tmp_path: Path):
    released = build("resnet26", ibn=kind).model
    state = {**released.state_dict(), "fc.weight": torch.ones(5, 2048), "fc.bias": torch.ones(5)}
    # The releases were written before torch counted batches.
    state = {key: value for key, value in state.items() if "num_batches" not in key}
    torch.save(state, tmp_path / "ibn.pth")
    assert_same(build("resnet26", ibn=kind, weights=str(tmp_path / "ibn.pth")).model, released)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("resnet26", {"non_local": [0, 2, 1, 0], "non_local_channels": "one"}),
        ("resnet18", {"non_local": [0, 1, 2, 0], "non_local_channels": "one", "ibn": "a"}),
        ("seresnet18", {"ibn": "a"}),
    ],
)
def test_a_whole_model_of_fastreid_loads(
    name: str, parameters: dict[str, object], tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    released = build(name, **parameters)
    for key, value in released.named_parameters():
        if ".se." in key and key.endswith("bias"):
            nn.init.zeros_(value)
    for key, value in released.model.named_parameters():
        if "_non_local" in key:
            nn.init.normal_(value)
    torch.save({"model": as_fastreid(released.model.state_dict())}, tmp_path / "model_final.pth")
    with caplog.at_level(logging.INFO, logger="reid_plugin_timm"):
        loaded = build(name, weights=str(tmp_path / "model_final.pth"), **parameters)
    assert "loaded 100.0% of the parameters" in caplog.text
    assert_same(loaded.model, released.model)


def test_the_base_of_a_bag_of_tricks_model_loads(tmp_path: Path):
    released = timm.create_model("resnet18", num_classes=0)
    state = {f"base.{key}": value for key, value in released.state_dict().items()}
    torch.save({**state, "bottleneck.weight": torch.ones(512)}, tmp_path / "bot.pth")
    assert_same(build("resnet18", weights=str(tmp_path / "bot.pth")).model, released)


def test_plain_weights_are_cut_in_two_for_ibn_a(tmp_path: Path):
    plain = timm.create_model("resnet18", num_classes=0)
    norm = plain.layer3[1].bn1
    for value in (norm.weight, norm.bias, norm.running_mean, norm.running_var):
        nn.init.uniform_(value, 0.5, 1.5)
    torch.save(plain.state_dict(), tmp_path / "resnet18.pth")
    mixed = build("resnet18", ibn="a", weights=str(tmp_path / "resnet18.pth")).model.layer3[1].bn1
    assert torch.equal(mixed.IN.weight, norm.weight[:128])
    assert torch.equal(mixed.BN.bias, norm.bias[128:])
    assert torch.equal(mixed.BN.running_mean, norm.running_mean[128:])
    assert torch.equal(mixed.BN.running_var, norm.running_var[128:])


def test_plain_weights_leave_what_they_lack_at_its_first_values(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    plain = timm.create_model("resnet18", num_classes=0)
    nn.init.uniform_(plain.bn1.weight)
    torch.save(plain.state_dict(), tmp_path / "resnet18.pth")
    given = {"ibn": "b", "non_local": [0, 1, 1, 0]}
    with caplog.at_level(logging.INFO, logger="reid_plugin_timm"):
        network = build("resnet18", weights=str(tmp_path / "resnet18.pth"), **given).model
    # Two ends of a stage, and two blocks of ten parameters each.
    assert "lacks 24 parameters that were put into the model" in caplog.text
    assert torch.equal(network.bn1.weight, plain.bn1.weight)
    assert torch.equal(network.layer4[1].conv2.weight, plain.layer4[1].conv2.weight)
    assert torch.equal(network.layer1[1].IN.weight, torch.ones(64))
    assert not network.layer2.get_submodule("1_non_local").W[1].weight.any()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"ibn": "a"}, r"has IBN-a \(layer1\.0\.bn1\.IN\.weight\); set `ibn: a`"),
        ({"ibn": "b"}, r"has IBN-b \(layer1\.1\.IN\.weight\); set `ibn: b`"),
        (
            {"non_local": [0, 1, 2, 0], "non_local_channels": "one"},
            r"`non_local: \[0, 1, 2, 0\]` and `non_local_channels: one`",
        ),
    ],
)
def test_weights_of_a_richer_network_say_what_to_set(
    parameters: dict[str, object], message: str, tmp_path: Path
):
    state = as_fastreid(build("resnet18", **parameters).model.state_dict())
    torch.save({"model": state}, tmp_path / "model.pth")
    with pytest.raises(CheckpointError, match=message):
        build("resnet18", weights=str(tmp_path / "model.pth"))


def test_a_backbone_loads_what_it_saved_in_a_run(tmp_path: Path):
    trained = build("resnet18", ibn="a", non_local=[0, 1, 1, 0])
    state = {f"backbone.{key}": value for key, value in trained.state_dict().items()}
    torch.save({**state, "head.neck.weight": torch.ones(3)}, tmp_path / "model.pth")
    path = str(tmp_path / "model.pth")
    assert_same(build("resnet18", ibn="a", non_local=[0, 1, 1, 0], weights=path), trained)
