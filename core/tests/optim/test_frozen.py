from __future__ import annotations

import pytest
import torch

from reid_core.errors import ConfigError
from reid_core.optim.frozen import freeze


def test_what_a_pattern_names_requires_no_gradient_and_nothing_else(model):
    freeze(model, ["backbone.*"])
    trained = {name for name, p in model.named_parameters() if p.requires_grad}
    assert trained == {
        "neck.weight", "neck.bias", "classifier.weight", "classifier.bias", "losses.0.centers",
    }  # fmt: skip


def statistics(model):
    norms = (model.backbone.stem_norm, model.backbone.plain_norm, model.neck)
    return [{k: v.clone() for k, v in norm.state_dict().items()} for norm in norms]


def train_forward(model, held):
    model.train()
    held.hold()
    features = model.backbone.plain_norm(model.backbone.stem_norm(torch.randn(2, 4, 3, 3)))
    model.neck(model.backbone.block(features).mean(dim=(2, 3)))


def test_batch_statistics_of_frozen_modules_stay_bitwise_and_others_move(model):
    held = freeze(model, ["backbone.*"])
    before = statistics(model)
    for _ in range(3):
        train_forward(model, held)
        model.eval()  # as an evaluation does
    stem, plain, neck = statistics(model)
    for now, then in zip((stem, plain), before, strict=False):
        assert all(torch.equal(now[key], then[key]) for key in then)
    assert not torch.equal(neck["running_mean"], before[2]["running_mean"])
    assert neck["num_batches_tracked"] == 3


def test_a_norm_with_one_trained_parameter_keeps_counting(model):
    held = freeze(model, ["neck.bias"])
    assert len(held) == 0
    train_forward(model, held)
    assert model.neck.num_batches_tracked == 1


def test_a_norm_without_parameters_is_held_inside_a_frozen_module_only(model):
    held = freeze(model, ["backbone.stem*"])
    assert len(held) == 1
    train_forward(model, held)
    assert model.backbone.stem_norm.num_batches_tracked == 0
    assert model.backbone.plain_norm.num_batches_tracked == 1


def test_dropout_and_other_modes_of_a_frozen_part_stay_as_they_are(model):
    held = freeze(model, ["backbone.*"])
    model.train()
    held.hold()
    assert model.backbone.training
    assert not model.backbone.stem_norm.training


def test_a_pattern_without_a_match_is_refused(model):
    with pytest.raises(ConfigError, match=r"train.optimizer.frozen: 'backbon' matches none"):
        freeze(model, ["backbon"])
