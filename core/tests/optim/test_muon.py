from __future__ import annotations

import pytest
import torch
from torch import nn

from reid_core.config.components import OptimizerConfig
from reid_core.errors import ConfigError
from reid_core.optim import build_optimizer

needs_muon = pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="this torch has no Muon")


@needs_muon
def test_it_is_torchs():
    optimizer = build_optimizer(
        OptimizerConfig(name="muon", momentum=0.8), nn.Linear(2, 3, bias=False)
    )
    assert isinstance(optimizer, torch.optim.Muon)
    assert optimizer.param_groups[0]["momentum"] == 0.8


@needs_muon
def test_a_model_with_vectors_is_refused_with_what_takes_them():
    with pytest.raises(ConfigError, match=r"1 parameters of the model are none, the first of shape "
                       r"\(3,\); timm's Muon"):  # fmt: skip
        build_optimizer(OptimizerConfig(name="muon"), nn.Linear(2, 3))


def test_an_old_torch_is_named(monkeypatch):
    monkeypatch.delattr(torch.optim, "Muon", raising=False)
    with pytest.raises(ConfigError, match=r"needs torch 2.9 or newer, and torch .* is installed"):
        build_optimizer(OptimizerConfig(name="muon"), nn.Linear(2, 3, bias=False))
