import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reid_core.errors import ConfigError
from reid_core.models import WeightedLoss
from reid_core.testing import tiny_reid_batch
from reid_core.testing.tiny_branching import (
    TinyBranchingBackbone,
    TinyBranchingTransformer,
    TinyBranchLoss,
)
from reid_plugin_heads.models.branch_head import attribute_name
from reid_plugin_heads.models.lmbn import LMBN

NAMES = (
    "global",
    "global_erased",
    "global_partial",
    "part_1",
    "part_2",
    "channel_1",
    "channel_2",
)


def lmbn(num_classes: int | None = 4, **parameters: object) -> LMBN:
    torch.manual_seed(0)
    losses = [] if num_classes is None else [WeightedLoss("tiny", TinyBranchLoss())]
    parameters = {"embedding_dim": 8, **parameters}
    return LMBN(
        backbone=TinyBranchingBackbone(), num_classes=num_classes, losses=losses, **parameters
    )


def sides_by_hand(model: LMBN, images: Tensor) -> dict[str, tuple[Tensor, Tensor]]:
    """Compute the seven features as published, in evaluation mode: before and after the BNNeck."""
    shared = model.backbone.trunk(images)
    whole, partial, channel = (branch(shared) for branch in model.backbone.branches)
    whole = model.head.block(whole)
    half = partial.shape[2] // 2
    channels = channel.mean(dim=(2, 3))
    reduction = model.head.shared
    vectors = [
        whole.mean(dim=(2, 3)),
        whole.amax(dim=(2, 3)),
        partial.amax(dim=(2, 3)),
        partial[:, :, :half].mean(dim=(2, 3)),
        partial[:, :, half:].mean(dim=(2, 3)),
        reduction.norm(channels[:, :8] @ reduction.reduction.weight.T).relu(),
        reduction.norm(channels[:, 8:] @ reduction.reduction.weight.T).relu(),
    ]
    found = {}
    for name, vector in zip(NAMES, vectors, strict=True):
        neck = model.head.branches[attribute_name(name)].neck
        before = vector if name.startswith("channel") else vector @ neck.reduction.weight.T
        norm = neck.bottleneck
        after = (before - norm.running_mean) / (norm.running_var + 1e-5).sqrt() * norm.weight
        found[name] = (before, after)
    return found


def test_the_embedding_is_seven_features_of_length_one(used) -> None:
    model = used(lmbn())
    images = tiny_reid_batch(seed=9).images
    after = [
        value / value.norm(dim=1, keepdim=True)
        for _, value in sides_by_hand(model, images).values()
    ]
    embedding = model.embed(images)
    assert embedding.shape == (16, 56)
    assert model.embedding_dim == 56
    torch.testing.assert_close(embedding, torch.cat(after, dim=1))


def test_a_cosine_of_embeddings_is_the_mean_of_seven_cosines(used) -> None:
    model = used(lmbn())
    images = tiny_reid_batch(seed=9).images
    first, second = (
        [after[row] for _, after in sides_by_hand(model, images).values()] for row in (0, 5)
    )
    cosines = [F.cosine_similarity(a, b, dim=0) for a, b in zip(first, second, strict=True)]
    embedding = model.embed(images)
    found = F.cosine_similarity(embedding[0], embedding[5], dim=0)
    torch.testing.assert_close(found, torch.stack(cosines).mean())


@pytest.mark.parametrize("side", ["before", "after"])
def test_features_can_be_left_at_their_lengths(side: str, used) -> None:
    model = used(lmbn(normalize=False, test_feature=side))
    images = tiny_reid_batch(seed=9).images
    expected = [value[side == "after"] for value in sides_by_hand(model, images).values()]
    torch.testing.assert_close(model.embed(images), torch.cat(expected, dim=1))


def test_losses_see_seven_logits_and_three_global_features_before_the_bnneck(output_of) -> None:
    model = lmbn()
    output = output_of(model)
    assert tuple(output.logits) == NAMES
    assert tuple(output.features) == NAMES[:3]
    for name, before in output.features.items():
        centred = F.batch_norm(before, None, None, training=True)
        weight = model.head.branches[attribute_name(name)].classifier.weight
        torch.testing.assert_close(output.logits[name], centred @ weight.T)


def test_in_training_the_erased_feature_lacks_the_most_active_rows(output_of) -> None:
    model = lmbn()
    weight = model.head.branches["global_erased"].neck.reduction.weight
    maps: list[Tensor] = []
    model.head.block.register_forward_hook(lambda _, __, result: maps.append(result.detach()))
    feature = output_of(model).features["global_erased"]
    for image, found in zip(maps[0], feature, strict=True):
        activity = [float(image[:, row].square().sum(dim=0).max()) for row in range(8)]
        # 0.33 of 8 rows are 3, and what is erased counts as 0.
        kept = sorted(range(8), key=lambda row: -activity[row])[3:]
        pooled = image[:, kept].amax(dim=(1, 2)).clamp(min=0)
        torch.testing.assert_close(found, pooled @ weight.T)


def test_a_band_follows_the_seed(output_of) -> None:
    features = []
    for seed in (1, 1, 2, 3, 4, 5, 6):
        model = lmbn(erase="band")
        torch.manual_seed(seed)
        features.append(output_of(model).features["global_erased"])
    assert torch.equal(features[0], features[1])
    assert any(not torch.equal(features[0], other) for other in features[2:])


def test_classifiers_start_as_those_of_the_authors() -> None:
    for branch in lmbn(num_classes=400).head.branches.values():
        assert branch.classifier.weight.std().item() == pytest.approx(0.001, rel=0.05)


def test_both_halves_of_the_channels_share_one_reduction() -> None:
    names = [name for name, _ in lmbn().named_parameters() if name.startswith("head.shared")]
    assert names == [
        f"head.shared.{part}" for part in ("reduction.weight", "norm.weight", "norm.bias")
    ]


def test_the_strides_of_the_residual_network_can_be_set() -> None:
    model = lmbn(global_stride=2, part_stride=1)
    maps = model.backbone(tiny_reid_batch().images)
    assert [tuple(value.shape[2:]) for value in maps] == [(8, 4), (16, 8), (16, 8)]
    assert model.eval()(tiny_reid_batch()).shape == (16, 56)


def test_a_backbone_that_makes_blocks_is_asked_for_one() -> None:
    class Maker(TinyBranchingBackbone):
        def make_block(self, channels: int) -> nn.Module:
            return nn.Sequential(nn.Conv2d(channels, channels, 1), nn.ReLU())

    model = LMBN(backbone=Maker(), num_classes=4)
    assert isinstance(model.head.block, nn.Sequential)


@pytest.mark.parametrize(
    "parameters",
    [{}, {"erase": "band"}, {"pooling": "gem_learned", "classifier": "cosine", "normalize": False}],
)
def test_everything_learns_and_the_classifiers_can_be_left_out(parameters, check_model) -> None:
    check_model(lambda num_classes: lmbn(num_classes, **parameters))


def test_an_odd_number_of_channels_is_an_error() -> None:
    backbone = TinyBranchingBackbone()
    backbone.feature_dim = 15
    with pytest.raises(ConfigError, match="15 is odd"):
        LMBN(backbone=backbone, num_classes=4)


def test_tokens_are_an_error() -> None:
    with pytest.raises(ConfigError, match="lmbn cuts feature maps"):
        LMBN(backbone=TinyBranchingTransformer(), num_classes=4)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"erase": "tops"}, r"erase: got 'tops'.*did you mean top\?"),
        ({"erase_ratio": 1.0}, "erase_ratio: got 1.0"),
        ({"embedding_dim": 0}, "embedding_dim: got 0"),
        ({"head": nn.Identity()}, "model.head is set, but lmbn"),
    ],
)
def test_a_wrong_parameter_is_an_error(parameters, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        lmbn(**parameters)
