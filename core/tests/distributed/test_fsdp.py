"""Parameters in shares give the numbers of parameters that are whole."""

import logging

import pytest
import torch
from torch import nn

from reid_core.config.load import load_config
from reid_core.engine.parallel.fsdp import blocks_of, require_fsdp_fits
from reid_core.errors import ConfigError


def test_shares_give_the_weights_and_figures_of_whole_parameters(ended, furthest_apart):
    assert ended["fsdp"].codes == [0, 0]
    shared, plain = ended["fsdp"].state(), ended["ddp"].state()
    assert furthest_apart(shared, plain) < 1e-5
    assert shared["results"] == plain["results"]
    assert "parameters in 2 shares: 2 blocks and the rest" in ended["fsdp"].texts[0]
    told = "strategy=fsdp: train.channels_last is for images, parameters stay contiguous"
    assert told in ended["fsdp"].texts[0]


def test_a_checkpoint_of_shares_holds_whole_tensors_under_plain_names(ended):
    shared, plain = ended["fsdp"].state(), ended["ddp"].state()
    assert shared["eval_model"] is None
    moments = [state["optimizer"]["state"] for state in (shared, plain)]
    assert moments[0].keys() == moments[1].keys()
    for number, entries in moments[1].items():
        for name, value in entries.items():
            assert type(moments[0][number][name]) is torch.Tensor
            torch.testing.assert_close(moments[0][number][name], value, rtol=1e-4, atol=1e-6)


def test_a_run_of_shares_resumes_bit_for_bit(ended, furthest_apart):
    assert ended["halfway"].codes == [143, 143]
    assert furthest_apart(ended["again"].state(), ended["fsdp"].state()) == 0


def test_a_run_of_shares_goes_on_with_whole_parameters(ended, furthest_apart):
    assert ended["as_ddp"].codes == [0, 0]
    assert furthest_apart(ended["as_ddp"].state(), ended["ddp"].state()) < 1e-5


def test_blocks_are_the_members_of_outer_sequences_that_have_members():
    block = nn.Sequential(nn.Conv2d(4, 4, 1), nn.ReLU())
    backbone = nn.Module()
    backbone.stem = nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4))
    backbone.layers = nn.ModuleList([block, nn.Sequential(nn.Sequential(block))])
    backbone.pool = nn.Sequential(nn.Sequential(nn.ReLU()))
    assert blocks_of(backbone) == list(backbone.layers)


class Whole:
    needs_whole_weights = True


def test_one_process_says_that_it_has_the_whole_model(tiny_recipe, caplog):
    config = load_config(tiny_recipe, {"train.distributed.strategy": "fsdp", "train.compile": True})
    with caplog.at_level(logging.INFO):
        require_fsdp_fits(config, [("average", Whole())], 1)
    assert caplog.messages == ["train.distributed.strategy=fsdp: one process has all of the model"]


def test_what_needs_whole_weights_is_refused_by_name(tiny_recipe):
    wrong = {
        "train.distributed.strategy": "fsdp",
        "train.compile": True,
        "train.precision": "fp16",
        "train.micro_batch": 2,
        "train.on_nan": "rollback",
        "train.clip_gradients": {"method": "adaptive", "limit": 0.01},
    }
    config = load_config(tiny_recipe, wrong)
    with pytest.raises(ConfigError) as caught:
        require_fsdp_fits(config, [("average", Whole()), ("other", object())], 2)
    assert str(caught.value) == (
        "train.distributed.strategy=fsdp keeps each weight in shares, and these cannot work with "
        "that: train.compile=true, train.precision=fp16 (bf16 can), train.micro_batch, "
        "train.on_nan=rollback (stop and skip can), train.clip_gradients.method=adaptive (norm and "
        "value can), hook average (its class says needs_whole_weights); leave them out, or use "
        "train.distributed.strategy=ddp"
    )
