from __future__ import annotations

import logging

import pytest
import torch

from reid_core.engine.step.loss_scaler import LossScaler
from reid_core.engine.step.precision import autocast_dtype, loss_scaler

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


@pytest.mark.parametrize(
    ("precision", "device", "expected"),
    [
        ("fp32", CPU, None),
        ("fp32", CUDA, None),
        ("bf16", CPU, torch.bfloat16),
        ("bf16", CUDA, torch.bfloat16),
        ("fp16", CUDA, torch.float16),
    ],
)
def test_each_precision_has_its_format_and_nothing_is_said(precision, device, expected, caplog):
    assert autocast_dtype(precision, device) == expected
    assert not caplog.records


@pytest.mark.parametrize("device", [CPU, torch.device("mps")])
def test_float16_becomes_bfloat16_where_it_does_not_exist_and_that_is_said_once(
    device, caplog
):  # B116
    with caplog.at_level(logging.WARNING, "reid_core"):
        assert autocast_dtype("fp16", device) == torch.bfloat16
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert f"fp16, which {device.type} does not compute in: bf16 is used" in record.getMessage()


def test_only_float16_needs_a_scaler():
    assert isinstance(loss_scaler(torch.float16, CPU), LossScaler)
    assert loss_scaler(torch.bfloat16, CPU) is None
    assert loss_scaler(None, CPU) is None
