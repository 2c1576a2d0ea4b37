from __future__ import annotations

import pytest
import timm
import torch
from torch import nn

from reid_plugin_timm.backbone import TimmBackbone
from reid_plugin_timm.layer_groups import find_layer_groups

NAMES = [
    *("resnet18", "resnest14d", "regnety_002", "efficientnet_b0", "mobilenetv3_small_050"),
    *("convnext_atto", "repvgg_a0", "vit_tiny_patch16_224", "deit_tiny_distilled_patch16_224"),
    *("swin_tiny_patch4_window7_224", "eva02_tiny_patch14_224", "vit_small_patch16_dinov3"),
    *("vit_small_patch14_reg4_dinov2", "coatnet_pico_rw_224", "mobilevit_xxs", "repvit_m0_9"),
    *("edgenext_xx_small", "ghostnet_050", "tiny_vit_5m_224", "fastvit_t8", "starnet_s1"),
]


def without_memory(name: str) -> nn.Module:
    with torch.device("meta"):
        return timm.create_model(name, num_classes=0)


@pytest.mark.parametrize("name", NAMES)
def test_groups_hold_every_parameter_once(name: str):
    network = without_memory(name)
    groups = find_layer_groups(network)
    names = [key for group in groups for key in group]
    assert sorted(names) == sorted(key for key, _ in network.named_parameters())
    assert len(groups) > 3
    assert all(groups)


def test_a_transformer_has_the_embedding_then_a_group_a_block():
    groups = find_layer_groups(without_memory("vit_tiny_patch16_224"))
    assert len(groups) == 1 + 12
    stem = {"cls_token", "pos_embed", "patch_embed.proj.weight", "patch_embed.proj.bias"}
    assert set(groups[0]) == stem
    assert all(key.startswith("blocks.4.") for key in groups[5])
    # The final normalisation belongs to the last block.
    assert {key.partition(".")[0] for key in groups[-1]} == {"blocks", "norm"}


def test_what_was_put_into_a_resnet_is_in_the_group_of_its_block():
    backbone = TimmBackbone(
        model_name="resnet18", image_size=(64, 32), ibn="b", non_local=[0, 1, 2, 0]
    )
    groups = backbone.layer_groups()
    names = [key for group in groups for key in group]
    assert sorted(names) == sorted(key for key, _ in backbone.named_parameters())
    assert len(groups) == 1 + 8
    assert "model.layer1.1.IN.weight" in groups[2]
    assert "model.layer2.1_non_local.g.weight" in groups[4]
    assert "model.layer3.0_non_local.W.1.bias" in groups[5]


def test_the_table_of_cameras_is_in_the_first_group():
    backbone = TimmBackbone(model_name="test_vit", image_size=(64, 32), sie="camera", num_cameras=3)
    groups = backbone.layer_groups()
    assert "side_information.table" in groups[0]
    names = [key for group in groups for key in group]
    assert sorted(names) == sorted(key for key, _ in backbone.named_parameters())
