from __future__ import annotations

import timm
import torch
from torch import nn
from torchvision.models import mobilenet_v2

from reid_core.checkpoint.weights import load_into
from reid_plugin_timm.torchvision_keys import is_torchvision_mobilenet_v2, rename_mobilenet_v2


def random_mobilenet_v2() -> nn.Module:
    torch.manual_seed(0)
    network = mobilenet_v2(weights=None).eval()
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.running_mean, std=0.1)
            nn.init.uniform_(module.running_var, 0.5, 1.5)
    return network


def test_timm_computes_the_same_with_the_renamed_weights():
    theirs = random_mobilenet_v2()
    ours = timm.create_model("mobilenetv2_100").eval()
    report = load_into(ours, rename_mobilenet_v2(theirs.state_dict()), source="torchvision")
    images = torch.randn(2, 3, 64, 64)
    with torch.inference_mode():
        torch.testing.assert_close(ours(images), theirs(images), rtol=1e-4, atol=1e-5)
    assert report.loaded_share == 1.0


def test_the_layout_is_told_apart_from_timms():
    assert is_torchvision_mobilenet_v2(random_mobilenet_v2().state_dict())
    assert not is_torchvision_mobilenet_v2(timm.create_model("mobilenetv2_100").state_dict())
