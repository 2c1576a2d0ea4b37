from __future__ import annotations

import pytest
import torch
from torch import nn

from reid_core.contracts import Batch, HeadOutput
from reid_core.errors import DataError, PluginError
from reid_core.models import Baseline, condition_values, conditions_of


def batch(**columns):
    return Batch(
        images=torch.randn(2, 3, 8, 8),
        pids=torch.tensor([0, 1]),
        camids=torch.tensor([4, 6]),
        index=torch.arange(2),
        columns=columns,
    )


class Conditioned(nn.Module):
    feature_dim = 3

    def __init__(self, *conditions):
        super().__init__()
        self.conditions = conditions

    def forward(self, images, camids=None, viewids=None):
        self.got = (camids, viewids)
        return images


class Head(nn.Module):
    def forward(self, features, pids=None):
        pooled = features.mean(dim=(2, 3))
        return HeadOutput(pooled, {"global": pooled})


def test_the_codes_of_training_win_over_those_of_the_test_set():
    codes = torch.tensor([0, 1])
    values = condition_values(batch(training_camids=codes, viewids=codes), ("camids", "viewids"))
    assert values["camids"] is codes
    assert values["viewids"] is codes
    assert condition_values(batch(), ("camids",))["camids"].tolist() == [4, 6]


def test_views_that_the_data_does_not_tell_are_missed():
    with pytest.raises(DataError, match="conditioned on viewids, and the data set has no column"):
        condition_values(batch(), ("viewids",))


def test_a_backbone_gets_what_it_declares():
    backbone = Conditioned("camids")
    model = Baseline(backbone=backbone, head=Head()).eval()
    assert model.conditions == ("camids",)
    model(batch(training_camids=torch.tensor([0, 1])))
    assert backbone.got[0].tolist() == [0, 1]
    assert backbone.got[1] is None


def test_embedding_without_a_condition_is_refused():
    model = Baseline(backbone=Conditioned("camids", "viewids"), head=Head()).eval()
    with pytest.raises(PluginError, match="conditioned on viewids; expected embed"):
        model.embed(torch.zeros(1, 3, 8, 8), camids=torch.tensor([0]))


def test_a_declaration_that_is_none_is_refused():
    with pytest.raises(PluginError, match=r"has conditions \('cameras',\)"):
        conditions_of(Conditioned("cameras"))
