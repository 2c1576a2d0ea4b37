"""B090: every recipe of this repository trains as it did when it was recorded."""

import importlib.util
import json
from pathlib import Path

import pytest
import torch

_SPEC = importlib.util.spec_from_file_location(
    "short_run", Path(__file__).with_name("short_run.py")
)
short_run = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(short_run)

RECIPES = short_run.recipes()
RECORDED = json.loads(short_run.RECORDED.read_text())


@pytest.fixture(autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_trains_as_recorded(name):
    found = short_run.short_run(RECIPES[name])
    assert not list(short_run.differences(RECORDED[name], found))


def test_what_is_recorded_is_there():
    assert set(RECORDED) == set(RECIPES)


def test_another_rule_would_be_seen():
    one = [{"cross_entropy": 2.0}]
    assert list(short_run.differences(one, [{"cross_entropy": 2.003}]))
    assert list(short_run.differences(one, [{"triplet": 2.0}]))
    assert not list(short_run.differences(one, [{"cross_entropy": 2.00001}]))
