"""The models with several branches on the backbones of the other packages."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
import torch

from reid_core.config.load import config_from_plain
from reid_core.errors import ConfigError
from reid_core.models.build import TRAINING_ONLY_KEYS, build_model
from reid_core.testing import tiny_reid_batch

RESNET = {"name": "timm", "model_name": "test_resnet"}
OSNET = {"name": "osnet_x0_25", "embedding": "map"}
VIT = {"name": "timm", "model_name": "test_vit", "patch_stride": 12, "sie": "camera"}
KEPT = {"global_stride": None, "part_stride": None}

#: Model, backbone, size of the images, width of the embedding, maps or tokens of the branches.
CASES = {
    "mgn-resnet": ({"name": "mgn"}, RESNET, (96, 64), 2048, [(3, 2), (6, 4), (6, 4)]),
    "mgn-osnet": ({"name": "mgn", **KEPT}, OSNET, (96, 64), 2048, [(6, 4)] * 3),
    "lmbn-resnet": (
        {"name": "lmbn", "pooling": "max", "global_stride": 2, "part_stride": 1},
        RESNET,
        (64, 32),
        3584,
        [(2, 1), (4, 2), (4, 2)],
    ),
    "lmbn-osnet": ({"name": "lmbn"}, OSNET, (64, 32), 3584, [(4, 2)] * 3),
    # 9·1 and 5·2 patches.
    "transreid-odd": ({"name": "transreid"}, VIT, (112, 16), 320, [(10,), *[(3,)] * 4]),
    "transreid-even": ({"name": "transreid"}, VIT, (64, 32), 320, [(11,), *[(3,)] * 4]),
}


def build(model, backbone, image_size, num_classes):
    losses = [{"name": "cross_entropy"}, {"name": "triplet", "margin": "soft"}]
    plain = {
        "model": {**model, "backbone": backbone, "losses": losses},
        "data": {"train": {"name": "synthetic"}, "image_size": list(image_size)},
    }
    torch.manual_seed(0)
    return build_model(
        config_from_plain(plain, source="test"), num_classes=num_classes, num_cameras=2
    )


@pytest.mark.parametrize("case", CASES)
def test_a_step_reaches_every_parameter(case):
    model, backbone, image_size, _, sizes = CASES[case]
    built = build(model, backbone, image_size, 4)
    seen = []
    built.backbone.register_forward_hook(lambda _, __, features: seen.extend(features))
    output = built(tiny_reid_batch(instances=2, image_size=image_size))
    torch.stack(list(output.losses.values())).sum().backward()
    spatial = [tuple(v.shape[2:]) if v.dim() == 4 else (v.shape[1],) for v in seen]
    assert spatial == sizes
    idle = [n for n, p in built.named_parameters() if p.requires_grad and p.grad is None]
    assert not idle


@pytest.mark.parametrize("case", CASES)
def test_without_classes_it_gives_the_same_embeddings(case):
    model, backbone, image_size, width, _ = CASES[case]
    trained = build(model, backbone, image_size, 4)
    batch = tiny_reid_batch(instances=2, image_size=image_size)
    with torch.no_grad():
        trained(batch)
        lean = build(model, backbone, image_size, None).eval()
        kept = {
            name: value
            for name, value in trained.state_dict().items()
            if not any(fnmatchcase(name, pattern) for pattern in TRAINING_ONLY_KEYS)
        }
        lean.load_state_dict(kept, strict=True)
        embeddings = trained.eval()(batch)
        assert embeddings.shape == (8, width)
        assert torch.equal(lean(batch), embeddings)


def test_the_camera_moves_the_embedding():
    model = build(*CASES["transreid-even"][:3], 4).eval()
    images = tiny_reid_batch(instances=1, image_size=(64, 32)).images
    first, second = (model.embed(images, camids=torch.full((4,), code)) for code in range(2))
    assert model.conditions == ("camids",)
    assert not torch.allclose(first, second)


def test_a_stride_that_the_backbone_does_not_have_names_the_parameters():
    with pytest.raises(ConfigError, match=r"(?s)model mgn: .*model\.global_stride"):
        build({"name": "mgn"}, OSNET, (96, 64), 4)


def test_the_further_block_of_lmbn_is_of_the_kind_of_the_backbone():
    torch.manual_seed(0)
    osnet = build({"name": "lmbn"}, OSNET, (64, 32), None)
    resnet = build({"name": "lmbn"}, RESNET, (64, 32), None)
    assert type(osnet.head.block) is type(osnet.backbone.branches[0].conv4[0])
    assert type(resnet.head.block).__name__ == "ResidualBottleneck"


@pytest.mark.parametrize("case", ["lmbn-osnet", "transreid-even", "mgn-resnet"])
def test_an_exported_model_can_be_called(case):
    model, backbone, image_size, width, _ = CASES[case]
    built = build(
        model, {**backbone, "sie": None} if backbone is VIT else backbone, image_size, None
    )
    built.eval()
    built.forward = built.embed
    images = torch.randn(2, 3, *image_size)
    exported = torch.export.export(built, (images,)).module()
    with torch.no_grad():
        assert exported(images).shape == (2, width)
        torch.testing.assert_close(exported(images), built.embed(images))
