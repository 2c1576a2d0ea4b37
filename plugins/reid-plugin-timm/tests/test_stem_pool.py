from __future__ import annotations

import pytest
import torch

from reid_core.errors import ConfigError
from reid_plugin_timm.backbone import TimmBackbone


def pooled_by_loop(features: torch.Tensor) -> torch.Tensor:
    """Pool (C, h, w) by 3×3 windows from the first pixel on, the last ones cut short."""
    rows, columns = features.shape[1] // 2, features.shape[2] // 2
    output = torch.empty(features.shape[0], rows, columns)
    for row in range(rows):
        for column in range(columns):
            window = features[:, 2 * row : 2 * row + 3, 2 * column : 2 * column + 3]
            output[:, row, column] = window.amax(dim=(1, 2))
    return output


def test_the_stem_pools_from_the_first_pixel_on():
    backbone = TimmBackbone(model_name="resnet18", image_size=(64, 32), stem_pool="ceil")
    features = torch.randn(1, 3, 32, 16)
    torch.testing.assert_close(backbone.model.maxpool(features)[0], pooled_by_loop(features[0]))
    with torch.inference_mode():
        assert backbone.eval()(torch.randn(1, 3, 64, 32)).shape == (1, 512, 2, 1)


@pytest.mark.parametrize("name", ["test_vit", "regnetx_002"])
def test_a_model_without_such_a_stem_is_refused(name: str):
    with pytest.raises(ConfigError, match=f"stem_pool: '{name}' .*resnet50"):
        TimmBackbone(model_name=name, image_size=(64, 32), stem_pool="ceil")
