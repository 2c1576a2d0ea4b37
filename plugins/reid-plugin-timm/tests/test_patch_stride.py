from __future__ import annotations

import json
from pathlib import Path

import pytest
import timm
import torch
from safetensors.torch import save_file
from torch import Tensor

from reid_core.errors import ConfigError
from reid_plugin_timm.backbone import TimmBackbone
from reid_plugin_timm.patch_stride import patch_size_of, size_without_overlap


def build(name: str, size: tuple[int, int], **parameters: object) -> TimmBackbone:
    return TimmBackbone(model_name=name, image_size=size, **parameters)  # type: ignore[arg-type]


def tokens_by_loop(image: Tensor, weight: Tensor, bias: Tensor, stride: int) -> Tensor:
    """Cut (3, H, W) into patches row by row and project each one: (patches, C)."""
    patch = weight.shape[-1]
    tokens = []
    top = 0
    while top + patch <= image.shape[1]:
        left = 0
        while left + patch <= image.shape[2]:
            window = image[:, top : top + patch, left : left + patch]
            tokens.append(weight.flatten(1) @ window.flatten() + bias)
            left += stride
        top += stride
    return torch.stack(tokens)


# B106
@pytest.mark.parametrize(
    ("size", "stride", "num_tokens"),
    [
        ((256, 128), None, 129),
        ((224, 224), None, 197),
        ((256, 256), None, 257),
        ((256, 128), 12, 211),
        ((384, 128), 12, 311),
        ((256, 256), 12, 442),
        ((256, 128), 16, 129),
    ],
)
def test_the_number_of_tokens_is_that_of_transreid(
    size: tuple[int, int], stride: int | None, num_tokens: int
):
    backbone = build("test_vit3", size, patch_stride=stride).eval()
    with torch.inference_mode():
        assert backbone(torch.randn(1, 3, *size)).shape == (1, num_tokens, backbone.feature_dim)
    assert backbone.model.pos_embed.shape[1] == num_tokens


def test_the_patches_are_those_of_a_sliding_window():
    backbone = build("test_vit3", (64, 48), patch_stride=12)
    image = torch.randn(3, 64, 48)
    embed = backbone.model.patch_embed
    expected = tokens_by_loop(image, embed.proj.weight, embed.proj.bias, 12)
    assert expected.shape[0] == 5 * 3
    torch.testing.assert_close(embed(image[None])[0], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "stride", "num_tokens"),
    [
        ("test_vit", 12, 1 + 5 * 2),  # resizes its table in every call
        ("deit_tiny_distilled_patch16_224", 12, 2 + 5 * 2),
        ("eva02_tiny_patch14_224", 10, 1 + 6 * 2),  # rotary positions besides the table
        ("vit_small_patch16_dinov3", 8, 5 + 7 * 3),  # rotary positions alone
        ("vit_small_patch16_rope_mixed_224", 12, 1 + 5 * 2),  # learned rotations
    ],
)
def test_other_families_take_overlapping_patches(name: str, stride: int, num_tokens: int):
    backbone = build(name, (64, 32), patch_stride=stride)
    tokens = backbone(torch.randn(2, 3, 64, 32))
    assert tokens.shape == (2, num_tokens, backbone.feature_dim)
    tokens.square().mean().backward()
    assert all(p.grad is not None for p in backbone.parameters() if p.requires_grad)


def test_a_stride_of_one_patch_changes_nothing():
    torch.manual_seed(0)
    plain = build("test_vit3", (64, 32)).eval()
    torch.manual_seed(0)
    strided = build("test_vit3", (64, 32), patch_stride=16).eval()
    images = torch.randn(2, 3, 64, 32)
    with torch.inference_mode():
        assert torch.equal(plain(images), strided(images))


def test_pretrained_tables_are_resized_once_to_the_overlapping_grid(tmp_path: Path):
    square = timm.create_model("test_vit3", num_classes=0)
    config = {
        "architecture": "test_vit3",
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

    network = build(f"local-dir:{tmp_path}", (256, 128), pretrained=True, patch_stride=12).model

    grid = square.pos_embed.detach()[:, 1:].reshape(1, 10, 10, -1).permute(0, 3, 1, 2)
    resized = torch.nn.functional.interpolate(
        grid, size=(21, 10), mode="bicubic", antialias=True, align_corners=False
    )
    table = network.pos_embed.detach()
    assert table.shape[1] == 211
    assert torch.equal(table[:, 0], square.pos_embed.detach()[:, 0])
    torch.testing.assert_close(table[:, 1:], resized.flatten(2).transpose(1, 2))
    assert torch.equal(network.patch_embed.proj.weight, square.patch_embed.proj.weight)


def test_asking_for_the_patch_size_draws_no_random_numbers():
    state = torch.get_rng_state()
    assert patch_size_of("vit_tiny_patch16_224") == (16, 16)
    assert torch.equal(state, torch.get_rng_state())


@pytest.mark.parametrize("stride", [0, 17])
def test_a_stride_that_leaves_pixels_out_is_refused(stride: int):
    with pytest.raises(ConfigError, match=rf"patch_stride: got {stride}, expected 1\.\.16"):
        build("test_vit", (64, 32), patch_stride=stride)


def test_an_image_smaller_than_a_patch_is_refused():
    with pytest.raises(ConfigError, match="8×32 is smaller than one patch of 16×16"):
        size_without_overlap((8, 32), (16, 16), 12)


@pytest.mark.parametrize(
    "name", ["resnet18", "swin_tiny_patch4_window7_224", "vit_tiny_r_s16_p8_224"]
)
def test_a_model_of_other_patches_is_refused(name: str):
    with pytest.raises(ConfigError, match=f"patch_stride: '{name}' .*vit_base_patch16_224"):
        build(name, (64, 32), patch_stride=12)
