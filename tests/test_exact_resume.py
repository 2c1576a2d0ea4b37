"""A run that is killed and resumed is, bit by bit, the one that never was.

Everything with a state is there in one of the runs. What is compared is the last checkpoint and the
best one, whole: weights, state of the optimizer and of each hook, random states, evaluations. And
the rows of the logs.
"""

from __future__ import annotations

import csv
import json
import signal
from collections.abc import Iterator, Mapping

import pytest
import torch

from reid_core import DefaultTrainer, load_config
from reid_core.checkpoint.weights import read_state_dict
from reid_core.engine import Interrupted
from reid_core.hookspecs import hookimpl
from reid_core.plugins.registries import BACKBONES
from reid_core.testing.tiny_model import TinyBackbone


class Tiny(TinyBackbone):
    """The tiny backbone, which draws random numbers in each step."""

    def forward(self, images):
        return torch.nn.functional.dropout(super().forward(images), 0.2, self.training)


@pytest.fixture(autouse=True)
def tiny_backbone() -> Iterator[None]:
    BACKBONES.register(Tiny, name="tiny_backbone")
    yield
    BACKBONES._local.pop("tiny_backbone")


class Ends:
    """Ends a run as SIGKILL would (without saving), or as SIGTERM does (saving)."""

    def __init__(self, how, step, *, in_evaluation=False):
        self._how, self._step, self._in_evaluation = how, step, in_evaluation

    def _end(self, trainer):
        if self._how == "kill":
            # What was handed to the thread is on the disk or it is not: here it is.
            dict(trainer.hooks.items())["checkpoint"].wait(trainer)
            raise KeyboardInterrupt
        trainer.request_stop(signal.SIGTERM)

    @hookimpl
    def after_step(self, trainer, step):
        if step + 1 == self._step and not self._in_evaluation:
            self._end(trainer)

    @hookimpl
    def before_eval(self, trainer):
        if trainer.iter == self._step and self._in_evaluation:
            self._end(trainer)


CHECKPOINT = {"name": "checkpoint", "every": 1, "every_steps": 3}
DEFAULTS = ["lr_schedule", CHECKPOINT, "evaluation", "metric_log", "console", "report"]
SETTINGS = {
    "device": "cpu",
    "model.backbone": "tiny_backbone",
    "model.head": {"name": "bnneck"},
    "model.losses": ["cross_entropy", "triplet"],
    "data.image_size": [32, 16],
    "data.batch": {"sampler": "identity", "identities": 3, "instances": 4},
    "data.transforms": ["random_flip", "pad_crop", "random_erasing"],
    "data.workers": 0,
    "train.epochs": 2,
    "train.optimizer": {"name": "adam", "lr": 0.01},
    "train.schedule": {"name": "cosine", "warmup": {"steps": 2, "factor": 0.1}},
    "train.log_every": 5,
    "evaluate": {"every": 1, "details": False},
    "default_hooks": [hook for hook in DEFAULTS if hook not in ("console", "report")],
}
MEMORY = {"name": "contrastive_memory", "memory_size": 32, "start_step": 2}
SGD = {"name": "sgd", "lr": 0.05, "momentum": 0.9, "nesterov": True}


def sampled(name, **parameters):
    return {"data.batch": {"sampler": name, **parameters}}


#: What differs from the plain run: settings, how it ends and after which step.
CASES = {
    "plain, inside of the first epoch": ({}, [("kill", 2), ("term", 3)]),
    "averages and logs": (
        {
            "hooks": [
                {"name": "ema", "decay": 0.9},
                {"name": "precise_bn", "batches": 2, "when": "evaluation"},
                {"name": "early_stopping", "patience": 9},
                "csv",
                "gradient_norm",
            ]
        },
        [("kill", 5), ("term", 6), ("kill", 8)],
    ),
    "swa and a frozen start": (
        {
            "hooks": [
                {"name": "freeze", "modules": ["backbone"], "steps": 3},
                {"name": "swa", "start_epoch": 0, "every": 2, "update_bn": 2},
            ]
        },
        [("kill", 2), ("kill", 7)],
    ),
    "memory and centres": (
        {"model.losses": ["cross_entropy", MEMORY, {"name": "center", "weight": 0.01}]},
        [("kill", 4), ("term", 5)],
    ),
    "memory of pml": (
        {
            "model.losses": [
                "cross_entropy",
                {"name": "pml", "loss": "ContrastiveLoss", "memory": 24},
            ]
        },
        [("kill", 7)],
    ),
    "bf16, clipping and momentum": (
        {
            "train.precision": "bf16",
            "train.optimizer": SGD,
            "train.clip_gradients": {"method": "norm", "limit": 1.0},
        },
        [("term", 1), ("kill", 5)],
    ),
    "balanced": (sampled("balanced_identity", identities=2, instances=2), [("kill", 5)]),
    "imbalanced": (sampled("imbalanced", size=12), [("kill", 5)]),
    "random": (sampled("random", size=12), [("kill", 5)]),
    "weighted": (sampled("weighted", weights={"market1501": 3}, instances=4), [("term", 5)]),
}


def train(market, folder, settings, *hooks):
    recipe = folder.with_name("tiny.yaml")
    recipe.write_text(json.dumps({"data": {"train": {"name": "market1501", "root": str(market)}}}))
    config = load_config(recipe, {**SETTINGS, **settings, "output": str(folder)})
    trainer = DefaultTrainer(config)
    trainer.resume_or_load("auto")
    trainer.register_hooks(hooks)
    trainer.train()
    return folder


def broken(market, folder, settings, ends):
    for end in ends:
        with pytest.raises((KeyboardInterrupt, Interrupted)):
            train(market, folder, settings, end)
    return train(market, folder, settings)


def require_equal(left, right, place=""):
    """Compare two states bit by bit."""
    if isinstance(left, Mapping):
        # Where the run is, by how many workers, and when and where it was started.
        skipped = {"output", "provenance", "workers"}
        assert left.keys() == right.keys(), place
        for key in left.keys() - skipped:
            require_equal(left[key], right[key], f"{place}.{key}")
    elif isinstance(left, list | tuple):
        assert len(left) == len(right), place
        for number, (one, other) in enumerate(zip(left, right, strict=True)):
            require_equal(one, other, f"{place}.{number}")
    elif isinstance(left, torch.Tensor):
        assert torch.equal(left, right), place
    else:
        assert left == right or (left != left and right != right), place


def metrics(folder):
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in row.items() if not k.startswith("time/")} for row in rows]


def table(folder):
    if not (folder / "metrics.csv").is_file():
        return []
    with (folder / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    return [{k: v for k, v in row.items() if not k.startswith("time/")} for row in rows]


def require_same_run(one, other):
    names = [sorted(p.name for p in (f / "checkpoints").glob("*.pt")) for f in (one, other)]
    assert names[0] == names[1]
    for name in names[0]:
        paths = [folder / "checkpoints" / name for folder in (one, other)]
        states = [torch.load(path, weights_only=True) for path in paths]
        require_equal(*states, name)
    assert metrics(one) == metrics(other)
    assert table(one) == table(other)
    for name in ("best", "last"):
        paths = [folder / "weights" / f"{name}.safetensors" for folder in (one, other)]
        states = [read_state_dict(path) for path in paths]
        require_equal(*states, name)


@pytest.mark.parametrize("case", CASES)
def test_a_run_that_was_killed_and_resumed_is_the_one_that_never_was(case, tiny_market, tmp_path):
    settings, ends = CASES[case]
    whole = train(tiny_market, tmp_path / "whole", settings)
    resumed = broken(
        tiny_market, tmp_path / "broken", settings, [Ends(how, step) for how, step in ends]
    )
    require_same_run(whole, resumed)


def test_an_evaluation_that_was_cut_off_is_made_up_for(tiny_market, tmp_path):
    ends = [Ends("kill", 4, in_evaluation=True), Ends("term", 4, in_evaluation=True)]
    whole = train(tiny_market, tmp_path / "whole", {})
    require_same_run(whole, broken(tiny_market, tmp_path / "broken", {}, ends))


def test_the_number_of_workers_changes_nothing_also_where_a_run_is_resumed(tiny_market, tmp_path):
    whole = train(tiny_market, tmp_path / "whole", {})
    folder = tmp_path / "broken"
    for workers, end in ((1, Ends("kill", 4)), (2, Ends("kill", 6))):
        with pytest.raises(KeyboardInterrupt):
            train(tiny_market, folder, {"data.workers": workers}, end)
    require_same_run(whole, train(tiny_market, folder, {}))
