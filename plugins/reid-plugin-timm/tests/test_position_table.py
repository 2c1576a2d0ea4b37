from __future__ import annotations

import logging
from pathlib import Path

import pytest
import timm
import torch
from torch import Tensor
from torch.nn.functional import interpolate

from reid_core.errors import CheckpointError, ConfigError
from reid_plugin_timm.backbone import TimmBackbone


def build(size: tuple[int, int], **parameters: object) -> TimmBackbone:
    given = {"model_name": "test_vit3", **parameters}
    return TimmBackbone(image_size=size, **given)  # type: ignore[arg-type]


def saved(tmp_path: Path, size: tuple[int, int], **parameters: object) -> tuple[str, Tensor]:
    """Save a model built for ``size`` and return the file and its position table."""
    backbone = build(size, **parameters)
    torch.save(backbone.model.state_dict(), tmp_path / "vit.pth")
    return str(tmp_path / "vit.pth"), backbone.model.pos_embed.detach()


def resized(table: Tensor, old: tuple[int, int], new: tuple[int, int], num_prefix: int = 1):
    """Resize a position table (1, prefix + h · w, C) channel by channel."""
    grid = table[0, num_prefix:].reshape(*old, -1)
    planes = [
        interpolate(plane[None, None], size=new, mode="bicubic", antialias=True)[0, 0]
        for plane in grid.permute(2, 0, 1)
    ]
    flat = torch.stack(planes, dim=-1).reshape(1, new[0] * new[1], -1)
    return torch.cat([table[:, :num_prefix], flat], dim=1)


# B106
def test_a_model_of_256x128_loads_at_384x128(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    path, table = saved(tmp_path, (256, 128))
    assert table.shape[1] == 129
    with caplog.at_level(logging.INFO, logger="reid_plugin_timm"):
        loaded = build((384, 128), weights=path).model.pos_embed.detach()
    assert loaded.shape[1] == 1 + 24 * 8
    assert torch.equal(loaded[:, 0], table[:, 0])
    torch.testing.assert_close(loaded, resized(table, (16, 8), (24, 8)), rtol=1e-4, atol=1e-6)
    assert "128 positions are taken as 16×8 patches" in caplog.text
    assert "resized from 16×8 to 24×8" in caplog.text
    assert "loaded 100.0% of the parameters" in caplog.text


@pytest.mark.parametrize(
    ("given", "source", "target", "stride"),
    [
        ([14, 14], (224, 224), (256, 128), None),
        (None, (224, 224), (256, 128), 12),
        (None, (256, 128), (256, 128), 12),
        ([24, 8], (384, 128), (256, 128), None),
        ([16, 4], (256, 64), (256, 128), None),
    ],
)
def test_rows_and_columns_are_resized_apart(
    tmp_path: Path,
    given: list[int] | None,
    source: tuple[int, int],
    target: tuple[int, int],
    stride: int | None,
):
    path, table = saved(tmp_path, source)
    network = build(target, weights=path, weights_grid=given, patch_stride=stride).model
    old = (source[0] // 16, source[1] // 16)
    new = network.patch_embed.grid_size
    assert tuple(new) == ((21, 10) if stride else (16, 8))
    expected = resized(table, old, new)
    torch.testing.assert_close(network.pos_embed.detach(), expected, rtol=1e-4, atol=1e-6)


def test_overlapping_patches_load_into_patches_side_by_side(tmp_path: Path):
    path, table = saved(tmp_path, (256, 128), patch_stride=12)
    loaded = build((256, 128), weights=path).model.pos_embed.detach()
    torch.testing.assert_close(loaded, resized(table, (21, 10), (16, 8)), rtol=1e-4, atol=1e-6)


def test_a_grid_as_many_as_a_square_is_kept_where_it_is_the_models_own(tmp_path: Path):
    # 28 × 7 patches are as many as 14 × 14, which timm would take them for.
    path, table = saved(tmp_path, (448, 112))
    assert torch.equal(build((448, 112), weights=path).model.pos_embed.detach(), table)


def test_registers_and_tables_without_class_entry_are_told_apart(tmp_path: Path):
    name = "vit_small_patch14_reg4_dinov2"
    path, table = saved(tmp_path, (112, 56), model_name=name)
    assert table.shape[1] == 8 * 4
    loaded = build((168, 56), model_name=name, weights=path).model.pos_embed.detach()
    expected = resized(table, (8, 4), (12, 4), num_prefix=0)
    torch.testing.assert_close(loaded, expected, rtol=1e-4, atol=1e-6)


def test_distillation_tokens_keep_their_entries(tmp_path: Path):
    name = "deit_tiny_distilled_patch16_224"
    path, table = saved(tmp_path, (64, 32), model_name=name)
    loaded = build((96, 32), model_name=name, weights=path).model.pos_embed.detach()
    torch.testing.assert_close(
        loaded, resized(table, (4, 2), (6, 2), num_prefix=2), rtol=1e-4, atol=1e-6
    )


def test_rotary_models_load_their_own_weights_at_another_size(tmp_path: Path):
    name = "eva02_tiny_patch14_224"
    path, table = saved(tmp_path, (112, 56), model_name=name)
    loaded = build((168, 56), model_name=name, weights=path).model.pos_embed.detach()
    torch.testing.assert_close(loaded, resized(table, (8, 4), (12, 4)), rtol=1e-4, atol=1e-6)


def test_a_grid_that_could_be_two_is_refused_with_both(tmp_path: Path):
    path, _ = saved(tmp_path, (384, 128))
    with pytest.raises(CheckpointError) as caught:
        build((256, 128), weights=path)
    message = str(caught.value)
    assert "has 192 patches, which is no square" in message
    assert "[24, 8] or [16, 12]" in message
    assert "weights_grid: [rows, columns]" in message


def test_a_grid_that_does_not_make_the_patches_is_refused(tmp_path: Path):
    path, _ = saved(tmp_path, (256, 128))
    with pytest.raises(CheckpointError, match=r"weights_grid: \[16, 9\] makes 144 .* has 128"):
        build((384, 128), weights=path, weights_grid=[16, 9])


def test_a_grid_without_a_table_is_refused(tmp_path: Path):
    torch.save(timm.create_model("test_resnet").state_dict(), tmp_path / "resnet.pth")
    with pytest.raises(ConfigError, match="no position table in common; remove weights_grid"):
        build(
            (64, 32),
            model_name="test_resnet",
            weights=str(tmp_path / "resnet.pth"),
            weights_grid=[4, 2],
        )


def test_a_grid_without_a_file_is_refused():
    with pytest.raises(ConfigError, match=r"weights_grid: \[4, 2\] describes a file"):
        build((64, 32), weights_grid=[4, 2])
