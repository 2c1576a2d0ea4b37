from __future__ import annotations

import numpy as np
import pytest
import torch

from reid_core.engine import DefaultTrainer
from reid_core.engine.scalars import checked_scalars
from reid_core.errors import PluginError
from reid_core.hookspecs import hookimpl


def test_numbers_of_every_kind_become_floats():
    values = {"a": 1, "b": 0.5, "c": np.float32(2), "d": True, "e": float("nan")}
    checked = checked_scalars(3, values, is_logging=False)
    assert {type(value) for value in checked.values()} == {float}
    assert [checked[key] for key in "abcd"] == [1.0, 0.5, 2.0, 1.0]


@pytest.mark.parametrize("value", [torch.tensor(1.0), "1", None, [1.0]])
def test_what_is_no_number_is_named_with_its_key(value):
    with pytest.raises(PluginError, match=f"norm is a {type(value).__name__}; expected a number"):
        checked_scalars(3, {"loss": 1.0, "norm": value}, is_logging=False)


def test_a_step_below_zero_is_refused():
    with pytest.raises(PluginError, match="step is -1; expected the number of steps done"):
        checked_scalars(-1, {"loss": 1.0}, is_logging=False)


def test_logging_inside_of_a_log_call_is_refused_and_the_next_row_is_written(tiny_config):
    class Recurses:
        @hookimpl
        def on_log(self, trainer, step, scalars):
            trainer.log_scalars(step, {"again": 1.0})

    trainer = DefaultTrainer(tiny_config)
    trainer.claim_folder()
    trainer.hooks.add(Recurses(), id="recurses")
    with pytest.raises(PluginError, match="log_scalars was called in on_log with again"):
        trainer.log_scalars(1, {"loss": 1.0})
    trainer.hooks.remove("recurses")
    trainer.log_scalars(2, {"loss": 1.0})
    assert trainer.storage.history("loss").latest() == 1.0
