from __future__ import annotations

import logging
from pathlib import Path

import pytest
import torch

from reid_core.errors import CheckpointError, ConfigError
from reid_plugin_timm.backbone import TimmBackbone
from reid_plugin_timm.side_information import SideInformation

SIZE = (64, 32)


def build(**parameters: object) -> TimmBackbone:
    torch.manual_seed(0)
    given = {"model_name": "test_vit3", "num_cameras": 3, "num_views": 4, **parameters}
    return TimmBackbone(image_size=SIZE, **given)  # type: ignore[arg-type]


def make(kind: str, **given: object) -> SideInformation:
    parameters = {"weight": 3.0, "tokens": "all", "num_cameras": 3, "num_views": 4, **given}
    made = SideInformation(kind=kind, feature_dim=5, **parameters)  # type: ignore[arg-type]
    torch.nn.init.normal_(made.table)
    return made


@pytest.mark.parametrize(
    ("kind", "conditions", "num_codes"),
    [
        ("camera", ("camids",), 3),
        ("view", ("viewids",), 4),
        ("camera_view", ("camids", "viewids"), 12),
    ],
)
@pytest.mark.parametrize("which", ["all", "class"])
def test_the_vector_of_its_code_is_added_to_an_image(
    kind: str, conditions: tuple[str, ...], num_codes: int, which: str
):
    side = make(kind, tokens=which)
    assert side.conditions == conditions
    assert side.table.shape == (num_codes, 1, 5)
    tokens = torch.randn(4, 6, 5)
    camids, viewids = [2, 0, 1, 2], [3, 3, 0, 1]
    expected = tokens.clone()
    for row in range(4):
        code = {
            "camera": camids[row],
            "view": viewids[row],
            "camera_view": camids[row] * 4 + viewids[row],
        }[kind]
        for position in range(6 if which == "all" else 1):
            expected[row, position] += 3.0 * side.table[code, 0].detach()
    given = torch.tensor(camids), torch.tensor(viewids)
    torch.testing.assert_close(side(tokens, *given), expected)


def test_a_table_starts_small():
    torch.manual_seed(0)
    table = SideInformation(
        kind="camera",
        num_cameras=200,
        num_views=None,
        feature_dim=64,
        weight=3.0,
        tokens="all",
    ).table
    assert float(table.detach().std()) == pytest.approx(0.02, rel=0.05)
    assert float(table.detach().mean()) == pytest.approx(0.0, abs=1e-3)


@pytest.mark.parametrize(
    ("name", "which"),
    [
        ("test_vit3", "all"),
        ("test_vit", "class"),
        ("deit_tiny_distilled_patch16_224", "all"),
        ("vit_small_patch16_dinov3", "all"),
        ("eva02_tiny_patch14_224", "class"),
        ("vit_small_patch16_rope_mixed_224", "all"),
    ],
)
def test_a_table_of_zeros_leaves_the_features_as_they_are(name: str, which: str):
    plain = build(model_name=name).eval()
    # Rotations that are learned for each block shall tell the blocks apart.
    for key, value in plain.model.named_parameters():
        torch.nn.init.normal_(value, std=1.0 if key.startswith("rope") else 0.1)
    told = build(model_name=name, sie="camera", sie_tokens=which).eval()
    told.model.load_state_dict(plain.model.state_dict())
    torch.nn.init.zeros_(told.side_information.table)
    images = torch.randn(2, 3, *SIZE)
    with torch.inference_mode():
        features = told(images, camids=torch.tensor([0, 2]))
        torch.testing.assert_close(features, plain(images), rtol=1e-4, atol=1e-5)


def test_it_is_added_where_the_positions_are():
    told = build(sie="camera_view", sie_weight=2.0).eval()
    torch.nn.init.normal_(told.side_information.table)
    camids, viewids = torch.tensor([1]), torch.tensor([2])
    images = torch.randn(1, 3, *SIZE)
    shifted = build().eval()
    shifted.model.load_state_dict(told.model.state_dict())
    shifted.model.pos_embed.data += 2.0 * told.side_information.table[1 * 4 + 2].detach()
    with torch.inference_mode():
        torch.testing.assert_close(
            told(images, camids=camids, viewids=viewids), shifted(images), rtol=1e-4, atol=1e-5
        )


def test_other_cameras_give_other_features_and_a_gradient():
    backbone = build(sie="camera")
    torch.nn.init.normal_(backbone.side_information.table)
    images = torch.randn(1, 3, *SIZE).expand(2, -1, -1, -1)
    features = backbone(images, camids=torch.tensor([0, 1]))
    assert not torch.allclose(features[0], features[1])
    features.square().sum().backward()
    gradient = backbone.side_information.table.grad
    assert bool(gradient[:2].any())
    assert not gradient[2].any()
    assert all(p.grad is not None for p in backbone.parameters() if p.requires_grad)


def test_without_it_nothing_is_wanted():
    assert build().conditions == ()
    assert build(sie="camera_view").conditions == ("camids", "viewids")


@pytest.mark.parametrize(
    ("kind", "missing", "message"),
    [
        ("camera", {"num_cameras": None}, r"sie: camera needs the number of cameras"),
        ("camera_view", {"num_views": None}, r"sie: camera_view needs the number of views"),
        ("view", {"num_views": None}, r"views of its images \(viewids\).*`sie: null`"),
    ],
)
def test_unknown_numbers_are_refused(kind: str, missing: dict[str, object], message: str):
    with pytest.raises(ConfigError, match=message):
        build(sie=kind, **missing)


def test_a_call_without_the_code_is_refused():
    with pytest.raises(ConfigError, match="called without viewids"):
        build(sie="camera_view")(torch.randn(2, 3, *SIZE), camids=torch.tensor([0, 1]))


@pytest.mark.parametrize("name", ["resnet18", "cait_xxs24_224", "swin_tiny_patch4_window7_224"])
def test_a_model_without_plain_tokens_is_refused(name: str):
    with pytest.raises(ConfigError, match=f"sie: '{name}' .*VisionTransformer.*Remove sie"):
        build(model_name=name, sie="camera")


def test_a_class_token_that_is_not_there_is_refused():
    with pytest.raises(ConfigError, match="sie_tokens: class, but 'test_vit3' has no class token"):
        build(sie="camera", sie_tokens="class")


def test_a_weight_of_nothing_is_refused():
    with pytest.raises(ConfigError, match=r"sie_weight: got 0\.0"):
        build(sie="camera", sie_weight=0.0)


def saved_run(tmp_path: Path, **parameters: object) -> tuple[str, TimmBackbone]:
    """Save a backbone as a run saves its model."""
    backbone = build(**parameters)
    if backbone.side_information is not None:
        torch.nn.init.normal_(backbone.side_information.table)
    state = {f"backbone.{key}": value for key, value in backbone.state_dict().items()}
    torch.save({**state, "head.neck.weight": torch.ones(3)}, tmp_path / "run.pth")
    return str(tmp_path / "run.pth"), backbone


def test_a_table_of_the_same_cameras_is_loaded(tmp_path: Path):
    path, trained = saved_run(tmp_path, sie="camera")
    loaded = build(sie="camera", weights=path)
    for key, value in loaded.state_dict().items():
        assert torch.equal(value, trained.state_dict()[key])


# B106
def test_a_table_of_other_cameras_is_named_and_refused_or_made_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    path, trained = saved_run(tmp_path, sie="camera", num_cameras=6)
    with pytest.raises(CheckpointError) as caught:
        build(sie="camera", num_cameras=15, weights=path)
    message = str(caught.value)
    assert "has 6 codes" in message
    assert "this data has 15 (15 camera(s) × 1 view(s))" in message
    assert "`sie_reset: true`" in message

    with caplog.at_level(logging.WARNING, logger="reid_plugin_timm"):
        remade = build(sie="camera", num_cameras=15, weights=path, sie_reset=True)
    assert "(6, 1, 96) does not fit (15, 1, 96)" in caplog.text
    assert "starts anew" in caplog.text
    assert remade.side_information.table.shape[0] == 15
    assert torch.equal(remade.model.pos_embed, trained.model.pos_embed)


def test_weights_without_a_table_leave_it_new(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    path, trained = saved_run(tmp_path)
    with caplog.at_level(logging.INFO, logger="reid_plugin_timm"):
        loaded = build(sie="camera", weights=path)
    assert "has no camera or view table" in caplog.text
    assert torch.equal(loaded.model.pos_embed, trained.model.pos_embed)


def test_a_table_without_a_place_is_refused(tmp_path: Path):
    path, _ = saved_run(tmp_path, sie="camera")
    with pytest.raises(CheckpointError, match=r"table of 3 codes.*set `sie: camera`"):
        build(weights=path)


def test_a_model_of_transreid_loads_under_its_own_names(tmp_path: Path):
    trained = build(sie="camera", patch_stride=12)
    state = {f"base.{key}": value for key, value in trained.model.state_dict().items()}
    state["base.sie_embed"] = torch.randn(3, 1, 96)
    state["bottleneck.weight"] = torch.ones(96)
    torch.save(state, tmp_path / "transreid.pth")
    loaded = build(sie="camera", patch_stride=12, weights=str(tmp_path / "transreid.pth"))
    assert torch.equal(loaded.side_information.table, state["base.sie_embed"])
    assert torch.equal(loaded.model.pos_embed, trained.model.pos_embed)
