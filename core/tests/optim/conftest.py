from __future__ import annotations

import pytest
import torch
from torch import nn


class Backbone(nn.Module):
    """Two layers with their norms, one of them without weights of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3)
        self.stem_norm = nn.BatchNorm2d(4)
        self.plain_norm = nn.BatchNorm2d(4, affine=False)
        self.block = nn.Sequential(nn.Conv2d(4, 5, 1), nn.GroupNorm(1, 5))

    def layer_groups(self) -> list[list[str]]:
        return [
            ["stem.weight", "stem.bias", "stem_norm.weight", "stem_norm.bias"],
            ["block.0.weight", "block.0.bias", "block.1.weight", "block.1.bias"],
        ]


class Centers(nn.Module):
    """A loss that owns parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.centers = nn.Parameter(torch.zeros(3, 5))

    def parameter_groups(self) -> list[dict[str, object]]:
        return [{"params": [self.centers], "lr": 0.5, "weight_decay": 0.0}]


class Model(nn.Module):
    """Backbone, neck, classifier and a loss with centres."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone = Backbone()
        self.neck = nn.BatchNorm1d(5)
        self.classifier = nn.Linear(5, 3)
        self.losses = nn.ModuleList([Centers()])


@pytest.fixture
def model() -> Model:
    torch.manual_seed(0)
    return Model()
