"""A vision transformer takes one size of image, which an evaluation at other scales says first."""

import pytest
import torch

from reid_core.errors import ConfigError
from reid_core.evaluation.views import Views, check_sizes
from reid_core.models import Baseline
from reid_core.plugins.registries import BACKBONES
from reid_core.testing.tiny_model import TinyHead

SIZE = (64, 32)


def test_a_transformer_is_refused_at_another_scale_by_name():
    settings = {"name": "timm", "model_name": "vit_tiny_patch16_224"}
    backbone = BACKBONES.build(settings, image_size=SIZE)
    model = Baseline(backbone=backbone, head=Tokens(feature_dim=192, num_classes=None))
    check_sizes(model, Views(flip=True, crops=5), SIZE, torch.device("cpu"))
    words = r"Baseline with backbone TimmBackbone cannot embed images of 96×48 .*scale 1.5"
    with pytest.raises(ConfigError, match=words):
        check_sizes(model, Views(scales=[1.0, 1.5]), SIZE, torch.device("cpu"))


class Tokens(TinyHead):
    """The mean of tokens instead of that of a map."""

    def forward(self, features, pids=None):
        return super().forward(features.transpose(1, 2)[..., None], pids)
