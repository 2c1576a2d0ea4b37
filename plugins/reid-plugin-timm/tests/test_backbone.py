from __future__ import annotations

from pathlib import Path

import pytest
import timm
import torch

from reid_core.contracts import Backbone
from reid_core.errors import CheckpointError, ConfigError
from reid_plugin_timm.backbone import TimmBackbone

SIZE = (128, 64)


def build(model_name: str, **parameters: object) -> TimmBackbone:
    return TimmBackbone(model_name=model_name, image_size=SIZE, **parameters)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("resnet18", (2, 512, 4, 2)),
        ("convnext_atto", (2, 320, 4, 2)),
        ("mobilenetv3_small_050", (2, 288, 4, 2)),
        ("tf_efficientnet_lite0", (2, 1280, 4, 2)),
        ("swin_tiny_patch4_window7_224", (2, 768, 4, 2)),
    ],
)
def test_convolutional_and_swin_models_return_a_map(name: str, shape: tuple[int, ...]):
    backbone = build(name).eval()
    with torch.inference_mode():
        features = backbone(torch.randn(2, 3, *SIZE))
    assert features.shape == shape
    assert (backbone.feature_dim, backbone.num_prefix_tokens) == (shape[1], None)


@pytest.mark.parametrize(
    ("name", "shape", "num_prefix_tokens"),
    [
        ("vit_tiny_patch16_224", (2, 33, 192), 1),
        ("deit_tiny_distilled_patch16_224", (2, 34, 192), 2),
        ("test_vit2", (2, 33, 64), 1),
    ],
)
def test_vision_transformers_return_tokens_of_a_non_square_image(
    name: str, shape: tuple[int, ...], num_prefix_tokens: int
):
    backbone = build(name).eval()
    with torch.inference_mode():
        features = backbone(torch.randn(2, 3, *SIZE))
    assert features.shape == shape
    assert (backbone.feature_dim, backbone.num_prefix_tokens) == (shape[2], num_prefix_tokens)


def test_a_swin_map_has_its_axes_where_a_head_expects_them():
    backbone = build("swin_tiny_patch4_window7_224").eval()
    images = torch.randn(1, 3, *SIZE)
    with torch.inference_mode():
        ours, theirs = backbone(images), backbone.model.forward_features(images)
    for row in range(4):
        for column in range(2):
            assert torch.equal(ours[0, :, row, column], theirs[0, row, column])


def test_pooling_the_map_gives_what_timm_returns_without_classifier():
    backbone = build("resnet18").eval()
    images = torch.randn(2, 3, *SIZE)
    with torch.inference_mode():
        torch.testing.assert_close(backbone(images).mean(dim=(2, 3)), backbone.model(images))


def test_last_stride_one_doubles_the_map():
    backbone = build("resnet18", last_stride=1).eval()
    with torch.inference_mode():
        assert backbone(torch.randn(1, 3, *SIZE)).shape == (1, 512, 8, 4)


def test_local_weights_are_loaded_before_the_stride_is_changed(tmp_path: Path):
    whole = timm.create_model("resnet18")
    torch.save(whole.state_dict(), tmp_path / "resnet18.pth")
    backbone = build("resnet18", last_stride=1, weights=str(tmp_path / "resnet18.pth"))
    assert torch.equal(backbone.model.layer4[0].conv1.weight, whole.layer4[0].conv1.weight)


@pytest.mark.parametrize("name", ["test_resnet", "test_convnext", "test_vit", "test_vit2"])
def test_the_gradient_reaches_every_parameter_that_is_trained(name: str):
    backbone = build(name)
    backbone(torch.randn(2, 3, *SIZE)).square().sum().backward()
    trained = {key: p for key, p in backbone.named_parameters() if p.requires_grad}
    assert trained
    assert [key for key, p in trained.items() if p.grad is None] == []


@pytest.mark.parametrize("name", ["test_resnet", "test_vit"])
def test_in_evaluation_an_image_does_not_depend_on_its_batch_mates(name: str):
    backbone = build(name).eval()
    images = torch.randn(3, 3, *SIZE)
    with torch.inference_mode():
        together = backbone(images)
        alone = torch.cat([backbone(image[None]) for image in images])
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-5)


def test_a_seed_gives_the_weights():
    def drawn(seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        return torch.cat([p.detach().flatten() for p in build("test_vit").parameters()])

    assert torch.equal(drawn(0), drawn(0))
    assert not torch.equal(drawn(0), drawn(1))


def test_it_is_a_backbone_as_the_contract_says():
    assert isinstance(build("test_resnet"), Backbone)


def test_published_and_local_weights_at_once_are_refused():
    with pytest.raises(ConfigError, match=r"pretrained: true and weights: a\.pth"):
        build("test_resnet", pretrained=True, weights="a.pth")


@pytest.mark.parametrize("rate", [-0.1, 1.0])
def test_a_drop_rate_outside_its_range_is_refused(rate: float):
    with pytest.raises(ConfigError, match=f"drop_path_rate: got {rate}"):
        build("test_vit", drop_path_rate=rate)


def test_an_unknown_name_is_a_user_error_with_a_suggestion():
    with pytest.raises(ConfigError, match="did you mean resnet18"):
        build("resnet_18")


def test_a_missing_weights_file_is_a_checkpoint_error(tmp_path: Path):
    with pytest.raises(CheckpointError, match=r"nothing\.pth not found"):
        build("test_resnet", weights=str(tmp_path / "nothing.pth"))
