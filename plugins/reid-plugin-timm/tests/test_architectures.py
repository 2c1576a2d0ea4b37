"""Every family of timm that a baseline may use: built from scratch, for a non-square image."""

from __future__ import annotations

import pytest
import torch

from reid_plugin_timm.backbone import TimmBackbone

SIZE = (64, 32)

#: Smallest model of a family, shape of its features for one image, and its prefix tokens.
MAPS = {
    "resnet18": (512, 2, 1),
    "seresnet18": (512, 2, 1),
    "resnext26ts": (2048, 2, 1),
    "resnest14d": (2048, 2, 1),
    "regnetx_002": (368, 2, 1),
    "regnety_002": (368, 2, 1),
    "efficientnet_b0": (1280, 2, 1),
    "tf_efficientnetv2_b0": (1280, 2, 1),
    "mobilenetv2_035": (1280, 2, 1),
    "mobilenetv3_small_050": (288, 2, 1),
    "mobilenetv4_conv_small_035": (336, 2, 1),
    "convnext_atto": (320, 2, 1),
    "convnextv2_atto": (320, 2, 1),
    "repvgg_a0": (1280, 2, 1),
    "mobileone_s0": (1024, 2, 1),
    "densenet121": (1024, 2, 1),
    "resnetv2_18": (512, 2, 1),
    "test_nfnet": (192, 2, 1),
    "hgnetv2_b0": (1024, 2, 1),
    "swin_tiny_patch4_window7_224": (768, 2, 1),
    "swinv2_tiny_window8_256": (768, 2, 1),
    "coatnet_pico_rw_224": (512, 2, 1),
    "maxvit_rmlp_pico_rw_256": (256, 2, 1),
    "mobilevit_xxs": (320, 2, 1),
    "efficientformerv2_s0": (176, 2, 1),
    "repvit_m0_9": (384, 2, 1),
    "edgenext_xx_small": (168, 2, 1),
    "ghostnet_050": (480, 2, 1),
    "tiny_vit_5m_224": (320, 2, 1),
    "fastvit_t8": (768, 2, 1),
    "pvt_v2_b0": (256, 2, 1),
    "starnet_s1": (192, 2, 1),
}
TOKENS = {
    "vit_tiny_patch16_224": ((9, 192), 1),
    "deit_tiny_patch16_224": ((9, 192), 1),
    "deit_tiny_distilled_patch16_224": ((10, 192), 2),
    "deit3_small_patch16_224": ((9, 384), 1),
    "vit_small_patch14_reg4_dinov2": ((13, 384), 5),
    "vit_small_patch16_dinov3": ((13, 384), 5),
    "eva02_tiny_patch14_224": ((9, 192), 1),
    "vit_small_patch16_rope_mixed_224": ((9, 384), 1),
    "vit_tiny_r_s16_p8_224": ((3, 192), 1),
    "xcit_nano_12_p16_224": ((9, 128), 1),
    "cait_xxs24_224": ((9, 192), 1),
}


def train_once(name: str) -> tuple[TimmBackbone, torch.Tensor]:
    """Build a backbone, run it once in training mode, and follow the gradient back."""
    torch.manual_seed(0)
    backbone = TimmBackbone(model_name=name, image_size=SIZE)
    features = backbone(torch.randn(2, 3, *SIZE))
    features.square().mean().backward()
    return backbone, features


def check_gradients(backbone: TimmBackbone):
    trained = {key: p for key, p in backbone.named_parameters() if p.requires_grad}
    assert len(trained) > 4
    assert [key for key, p in trained.items() if p.grad is None] == []
    assert all(bool(p.grad.isfinite().all()) for p in trained.values())


@pytest.mark.parametrize("name", MAPS)
def test_convolutional_and_hybrid_models_train_on_a_map(name: str):
    backbone, features = train_once(name)
    assert features.shape == (2, *MAPS[name])
    assert (backbone.feature_dim, backbone.num_prefix_tokens) == (MAPS[name][0], None)
    assert bool(features.isfinite().all())
    check_gradients(backbone)


@pytest.mark.parametrize("name", TOKENS)
def test_transformers_train_on_tokens(name: str):
    shape, num_prefix_tokens = TOKENS[name]
    backbone, features = train_once(name)
    assert features.shape == (2, *shape)
    assert (backbone.feature_dim, backbone.num_prefix_tokens) == (shape[1], num_prefix_tokens)
    assert bool(features.isfinite().all())
    check_gradients(backbone)
