from typing import cast

import pytest
import torch
from torch import Tensor, nn

from reid_core.errors import ConfigError
from reid_core.models import WeightedLoss
from reid_core.testing import tiny_reid_batch
from reid_core.testing.tiny_branching import (
    TinyBranchingBackbone,
    TinyBranchingTransformer,
    TinyBranchLoss,
)
from reid_plugin_heads.models.mgn import MGN, MGNNeck

VECTORS = (
    ("global_1", 0, 0.0, 1.0),
    ("global_2", 1, 0.0, 1.0),
    ("global_3", 2, 0.0, 1.0),
    ("part_2_1", 1, 0.0, 1 / 2),
    ("part_2_2", 1, 1 / 2, 1.0),
    ("part_3_1", 2, 0.0, 1 / 3),
    ("part_3_2", 2, 1 / 3, 2 / 3),
    ("part_3_3", 2, 2 / 3, 1.0),
)
IMAGE = (96, 32)


def mgn(num_classes: int | None = 4, **parameters: object) -> MGN:
    torch.manual_seed(0)
    losses = [] if num_classes is None else [WeightedLoss("tiny", TinyBranchLoss())]
    parameters = {"embedding_dim": 8, **parameters}
    return MGN(
        backbone=TinyBranchingBackbone(), num_classes=num_classes, losses=losses, **parameters
    )


def vectors_by_hand(model: MGN, images: Tensor) -> dict[str, Tensor]:
    """Pool and reduce the eight regions in plain loops, in evaluation mode."""
    maps = [branch(model.backbone.trunk(images)) for branch in model.backbone.branches]
    found = {}
    for name, branch, top, bottom in VECTORS:
        values = maps[branch]
        height, width = values.shape[2:]
        rows = range(round(top * height), round(bottom * height))
        pooled = values[:, :, rows.start].amax(dim=2)
        for row in rows:
            for column in range(width):
                pooled = torch.maximum(pooled, values[:, :, row, column])
        neck = model.head.branches[name].neck
        norm = neck.norm
        reduced = pooled @ neck.reduction.weight.T
        scale = norm.weight / (norm.running_var + 1e-5).sqrt()
        found[name] = ((reduced - norm.running_mean) * scale + norm.bias).clamp(min=0)
    return found


def test_the_embedding_is_eight_pooled_and_reduced_regions(used) -> None:
    model = used(mgn())
    images = tiny_reid_batch(image_size=IMAGE).images
    by_hand = vectors_by_hand(model, images)
    embedding = model.embed(images)
    assert embedding.shape == (16, 64)
    assert model.embedding_dim == 64
    torch.testing.assert_close(embedding, torch.cat(list(by_hand.values()), dim=1))


def test_losses_see_eight_logits_and_three_global_features(output_of) -> None:
    output = output_of(mgn())
    assert list(output.logits) == [name for name, *_ in VECTORS]
    assert {logits.shape for logits in output.logits.values()} == {(16, 4)}
    assert list(output.features) == ["global_1", "global_2", "global_3"]
    torch.testing.assert_close(output.embedding[:, 8:16], output.features["global_2"])


def test_fastreid_lets_metric_losses_see_the_parts_of_a_branch_side_by_side(output_of) -> None:
    output = output_of(mgn(metric_branches="fastreid"))
    shapes = {name: tuple(value.shape) for name, value in output.features.items()}
    thirds, halves = (16, 24), (16, 16)
    assert shapes == {
        **{f"global_{branch}": (16, 8) for branch in (1, 2, 3)},
        "part_2": halves,
        "part_3": thirds,
    }
    torch.testing.assert_close(output.features["part_2"], output.embedding[:, 24:40])
    torch.testing.assert_close(output.features["part_3"], output.embedding[:, 40:])


def test_the_global_branch_alone_reduces_the_resolution_once_more() -> None:
    maps = mgn().backbone(tiny_reid_batch().images)
    assert [tuple(value.shape[2:]) for value in maps] == [(8, 4), (16, 8), (16, 8)]
    kept = mgn(global_stride=None, part_stride=None).backbone(tiny_reid_batch().images)
    assert [tuple(value.shape[2:]) for value in kept] == [(8, 4)] * 3


def test_a_bnneck_has_two_sides(output_of) -> None:
    model = mgn(neck="reduction_bnneck", metric_feature="before", test_feature="after")
    output = output_of(model)
    before = output.features["global_1"]
    centred = (before - before.mean(0)) / (before.var(0, unbiased=False) + 1e-5).sqrt()
    torch.testing.assert_close(output.embedding[:, :8], centred)
    weight = model.head.branches["global_1"].classifier.weight
    torch.testing.assert_close(output.logits["global_1"], centred @ weight.T)


@pytest.mark.parametrize(
    ("neck", "has_negative", "mean_is_zero"),
    [
        ("reduction_bn_relu", False, False),
        ("reduction_bn", True, True),
        ("reduction", True, False),
        ("reduction_bnneck", True, False),
    ],
)
def test_each_neck_gives_its_own_feature(
    neck: MGNNeck, has_negative: bool, mean_is_zero: bool, output_of
) -> None:
    feature = output_of(mgn(neck=neck)).features["global_1"]
    assert bool((feature < 0).any()) == has_negative
    assert bool(feature.mean(dim=0).abs().max() < 1e-5) == mean_is_zero


def test_all_vectors_have_parameters_of_their_own() -> None:
    model = mgn(pooling="gem_learned", gem_exponent=4.0)
    for part in ("neck.reduction.weight", "classifier.weight"):
        names = [f"head.branches.{name}.{part}" for name, *_ in VECTORS]
        found = dict(model.named_parameters())
        assert len({found[name].data_ptr() for name in names}) == 8
    exponents = [value for name, value in model.named_parameters() if "poolings" in name]
    assert [value.item() for value in exponents] == [4.0] * 8


def test_a_margin_is_for_the_loss_alone(output_of) -> None:
    output = output_of(mgn(classifier="cosface", scale=16.0, margin=0.25))
    assert output.scores is not None
    pids = tiny_reid_batch().pids
    for name, scores in output.scores.items():
        is_label = nn.functional.one_hot(pids, 4).bool()
        expected = torch.full((16,), 4.0)
        torch.testing.assert_close((scores - output.logits[name])[is_label], expected)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"neck": "reduction_bnneck", "metric_branches": "fastreid", "pooling": "gem_learned"},
        {"classifier": "arcface", "neck": "reduction"},
    ],
)
def test_everything_learns_and_the_classifiers_can_be_left_out(parameters, check_model) -> None:
    check_model(lambda num_classes: mgn(num_classes, **parameters))


def test_losses_can_ask_for_some_vectors() -> None:
    class Branches(TinyBranchLoss):
        def forward(self, output, batch):
            self.seen = (list(output.features), list(output.logits))
            return super().forward(output, batch)

    loss = Branches()
    model = MGN(
        backbone=TinyBranchingBackbone(),
        num_classes=4,
        losses=[WeightedLoss("global", loss, 0.5, ("global_*",))],
    )
    model(tiny_reid_batch())
    names = ["global_1", "global_2", "global_3"]
    assert loss.seen == (names, names)


def test_tokens_are_an_error() -> None:
    with pytest.raises(ConfigError, match="mgn cuts feature maps"):
        MGN(backbone=TinyBranchingTransformer(), num_classes=4)


def test_a_configured_head_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"model.head is set, but mgn builds the heads"):
        mgn(head=nn.Identity())


def test_a_map_too_low_for_its_stripes_is_an_error() -> None:
    images = tiny_reid_batch(image_size=(8, 16)).images
    with pytest.raises(ConfigError, match="has 2 rows, too few for 3 stripes"):
        mgn().eval().embed(images)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"neck": cast("MGNNeck", "bnneck")}, "neck: got 'bnneck'"),
        ({"metric_branches": "globl"}, r"metric_branches: got 'globl'.*did you mean global\?"),
        ({"embedding_dim": 0}, "embedding_dim: got 0"),
        ({"pooling": "class_token"}, "class_token"),
        ({"pooling": "max", "gem_exponent": 2.0}, "gem_exponent"),
        ({"classifier": "linear", "margin": 0.3}, "margin: got 0.3"),
    ],
)
def test_a_wrong_parameter_is_an_error(parameters, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        mgn(**parameters)
