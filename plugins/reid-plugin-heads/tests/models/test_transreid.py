from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from reid_core.contracts import Batch
from reid_core.errors import ConfigError, DataError, PluginError
from reid_core.models import WeightedLoss
from reid_core.testing import tiny_reid_batch
from reid_core.testing.tiny_branching import (
    TinyBranchingBackbone,
    TinyBranchingTransformer,
    TinyBranchLoss,
)
from reid_plugin_heads.models.branch_head import attribute_name
from reid_plugin_heads.models.transreid import TransReID


def transreid(
    num_classes: int | None = 4, num_cameras: int | None = None, **parameters: object
) -> TransReID:
    torch.manual_seed(0)
    losses = [] if num_classes is None else [WeightedLoss("tiny", TinyBranchLoss())]
    backbone = TinyBranchingTransformer(num_cameras=num_cameras)
    return TransReID(backbone=backbone, num_classes=num_classes, losses=losses, **parameters)


def published(model: TransReID, images: Tensor, *, shift: int, parts: int) -> list[Tensor]:
    """Return the five class tokens as the paper has them, token by token and group by group."""
    tokens = model.backbone.trunk(images)
    first, second = model.backbone.branches
    class_token, count = tokens[:, :1], tokens.shape[1] - 1
    sequence = [tokens[:, place] for place in range(shift, count + 1)]
    sequence += [tokens[:, place] for place in range(1, shift)]
    if len(sequence) % 2:
        sequence.append(sequence[-2])
    half = len(sequence) // 2
    shuffled = [sequence[row * half + column] for column in range(half) for row in range(2)]
    length = count // parts
    found = [first(tokens)[:, 0]]
    for part in range(parts):
        group = torch.stack(shuffled[part * length : (part + 1) * length], dim=1)
        found.append(second(torch.cat([class_token, group], dim=1))[:, 0])
    return found


#: Even and odd numbers of patches of 8×8: 8·4, 9·3, 7·5, 21·10.
SIZES = [(64, 32), (72, 24), (56, 40), (168, 80)]


@pytest.mark.parametrize("image_size", SIZES)
@pytest.mark.parametrize("shift", [1, 5, 8])
def test_the_embedding_is_that_of_the_paper(image_size, shift: int, used) -> None:
    model = used(transreid(shift=shift))
    images = tiny_reid_batch(image_size=image_size).images
    first, *local = published(model, images, shift=shift, parts=4)
    expected = torch.cat([first, *(value / 4 for value in local)], dim=1)
    torch.testing.assert_close(model.embed(images), expected)
    assert model.embedding_dim == 80


def test_after_the_bnneck_the_local_features_are_divided_too(used) -> None:
    model = used(transreid(test_feature="after"))
    images = tiny_reid_batch().images
    necks = [branch.neck.bottleneck for branch in model.head.branches.values()]
    raw = published(model, images, shift=5, parts=4)
    first, *local = (neck(value) for neck, value in zip(necks, raw, strict=True))
    torch.testing.assert_close(
        model.embed(images), torch.cat([first, *(value / 4 for value in local)], dim=1)
    )


def test_the_number_of_parts_is_the_divisor(used) -> None:
    model = used(transreid(parts=2))
    images = tiny_reid_batch().images
    first, *local = published(model, images, shift=5, parts=2)
    expected = torch.cat([first, *(value / 2 for value in local)], dim=1)
    torch.testing.assert_close(model.embed(images), expected)


def test_losses_see_five_branches_before_the_bnneck(output_of) -> None:
    model = transreid()
    output = output_of(model)
    names = ["global", "local_1", "local_2", "local_3", "local_4"]
    assert list(output.features) == list(output.logits) == names
    raw = published(model, tiny_reid_batch().images, shift=5, parts=4)
    for name, value in zip(names, raw, strict=True):
        torch.testing.assert_close(output.features[name], value)
        neck, classifier = (
            model.head.branches[attribute_name(name)].neck,
            model.head.branches[attribute_name(name)].classifier,
        )
        centred = nn.functional.batch_norm(value, None, None, training=True)
        torch.testing.assert_close(output.logits[name], centred @ classifier.weight.T)
        assert not neck.bottleneck.bias.requires_grad


def test_classifiers_start_as_those_of_the_authors() -> None:
    for branch in transreid(num_classes=400).head.branches.values():
        assert branch.classifier.weight.std().item() == pytest.approx(0.001, rel=0.05)


def test_the_local_groups_share_one_branch() -> None:
    assert len(transreid().backbone.branches) == 2


def test_without_the_local_branch_it_is_the_baseline(used, output_of) -> None:
    torch.manual_seed(0)
    whole = TinyBranchingTransformer()
    model = transreid(jpm=False)
    images = tiny_reid_batch().images
    torch.testing.assert_close(model.eval().embed(images), whole.eval()(images)[:, 0])
    assert model.embedding_dim == 16
    assert list(output_of(model.train()).logits) == ["global"]


def test_the_published_weights_of_the_losses_can_be_written(output_of) -> None:
    losses = [
        WeightedLoss("tiny", TinyBranchLoss(), 0.5, ("global",)),
        WeightedLoss("tiny_2", TinyBranchLoss(), 0.5, ("local_*",)),
    ]
    model = TransReID(backbone=TinyBranchingTransformer(), num_classes=4, losses=losses)
    pids = tiny_reid_batch().pids
    output = output_of(model)
    by_hand = {
        name: nn.functional.cross_entropy(output.logits[name], pids)
        + output.features[name].var(dim=0).mean()
        for name in output.logits
    }
    found = model(tiny_reid_batch()).losses
    local = [by_hand[f"local_{part}"] for part in range(1, 5)]
    torch.testing.assert_close(found["tiny"], 0.5 * by_hand["global"])
    torch.testing.assert_close(found["tiny_2"], 0.5 * sum(local) / 4)


@pytest.mark.parametrize("parameters", [{}, {"jpm": False}, {"classifier": "circle_softmax"}])
def test_everything_learns_and_the_classifiers_can_be_left_out(parameters, check_model) -> None:
    check_model(lambda num_classes: transreid(num_classes, **parameters))


def test_cameras_reach_the_backbone(check_model) -> None:
    check_model(lambda num_classes: transreid(num_classes, num_cameras=2))
    model = transreid(num_cameras=2).eval()
    assert model.conditions == ("camids",)
    batch = tiny_reid_batch()
    embeddings = model(batch)
    assert torch.equal(model.embed(batch.images, camids=batch.camids), embeddings)
    assert not torch.allclose(model.embed(batch.images, camids=1 - batch.camids), embeddings)


def test_a_missing_camera_is_an_error() -> None:
    with pytest.raises(PluginError, match=r"conditioned on camids.*embed\(images, camids=codes\)"):
        transreid(num_cameras=2).eval().embed(tiny_reid_batch().images)


def test_a_missing_view_is_an_error_of_the_data() -> None:
    model = transreid(num_cameras=2)
    model.conditions = ("camids", "viewids")
    batch: Batch = replace(tiny_reid_batch(), columns={})
    with pytest.raises(DataError, match="conditioned on viewids"):
        model(batch)


def test_register_tokens_stand_before_each_group() -> None:
    torch.manual_seed(0)
    backbone = TinyBranchingTransformer()
    backbone.num_prefix_tokens = 3
    seen = []
    model = TransReID(backbone=backbone, num_classes=None).eval()
    _, local = model.backbone.branches
    local.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    shared = torch.randn(2, 3 + 16, 16)
    model.backbone.branch_features(shared)
    (together,) = seen
    assert together.shape == (8, 3 + 4, 16)
    torch.testing.assert_close(together[:, :3], shared[:, :3].repeat(4, 1, 1))


def test_a_map_is_an_error() -> None:
    with pytest.raises(ConfigError, match="transreid needs a transformer with a class token"):
        TransReID(backbone=TinyBranchingBackbone(), num_classes=4)


def test_a_configured_head_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"model.head is set, but transreid"):
        transreid(head=nn.Identity())


@pytest.mark.parametrize("name", ["shift", "shuffle_groups", "parts"])
def test_a_count_below_one_is_an_error(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name}: got 0"):
        transreid(**{name: 0})


def test_too_small_an_image_is_an_error() -> None:
    with pytest.raises(ConfigError, match="gives 4 patch tokens"):
        transreid().eval().embed(torch.randn(1, 3, 16, 16))
