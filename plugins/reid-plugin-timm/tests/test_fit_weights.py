"""Weights of a whole model, for images of another size and for other cameras."""

from __future__ import annotations

import logging

import pytest
import torch

from reid_core.errors import CheckpointError
from reid_plugin_timm.backbone import TimmBackbone
from reid_plugin_timm.position_table import resize_position_table


def build(size=(64, 32), **parameters):
    return TimmBackbone(model_name="test_vit", image_size=size, **parameters)


# B106
@pytest.mark.parametrize("split", [False, True], ids=["whole", "trunk"])
def test_a_position_table_is_resized_rows_and_columns_apart(split, caplog):
    caplog.set_level(logging.INFO)
    trained, new = build((64, 32)), build((96, 32))
    if split:
        trained, new = (one.split(last_strides=[None])[0] for one in (trained, new))
    state = trained.state_dict()
    fitted = new.fit_weights(state, source="run")
    table = resize_position_table(
        state["model.pos_embed"], source=(4, 2), target=(6, 2), num_prefix=1
    )
    assert torch.equal(fitted["model.pos_embed"], table)
    assert torch.equal(table[:, 0], state["model.pos_embed"][:, 0]), "the class token is kept"
    new.load_state_dict(fitted)
    assert "position table resized from 4×2 to 6×2" in caplog.text


def test_a_table_of_other_cameras_is_refused_or_made_anew(caplog):
    state = build(sie="camera", num_cameras=6).state_dict()
    refusing = build(sie="camera", num_cameras=15)
    with pytest.raises(CheckpointError, match=r"has 6 codes of .* this data has 15"):
        refusing.fit_weights(state, source="run")
    for new in (
        remade := build(sie="camera", num_cameras=15, sie_reset=True),
        remade.split(last_strides=[None])[0],
    ):
        before = new.side_information.table.detach().clone()
        fitted = new.fit_weights(state, source="run")
        assert torch.equal(fitted["side_information.table"], before)
    assert "starts anew" in caplog.text
    with pytest.raises(CheckpointError, match="set `sie: camera`"):
        build().fit_weights(state, source="run")


def test_a_table_of_the_same_cameras_is_taken_and_one_that_is_missing_starts_anew():
    trained, new = (build(sie="camera", num_cameras=3) for _ in range(2))
    state = trained.state_dict()
    assert torch.equal(
        new.fit_weights(state, source="run")["side_information.table"],
        state["side_information.table"],
    )
    without = {key: value for key, value in state.items() if key.startswith("model.")}
    new = build(sie="camera", num_cameras=3)
    before = new.side_information.table.detach().clone()
    fitted = new.fit_weights(without, source="run")
    assert torch.equal(fitted["side_information.table"], before)


def test_nothing_of_it_in_a_file_is_left_to_others_to_tell():
    assert build(sie="camera", num_cameras=3).fit_weights({}, source="run") == {}
