from __future__ import annotations

import json
from dataclasses import replace

import pytest
from pydantic import TypeAdapter

from reid_core.config import load_config
from reid_core.engine import DefaultTrainer
from reid_core.engine.evaluation.details import write_details
from reid_core.evaluation.detail import Detail, Failure, Interval
from reid_core.hookspecs import hookimpl


class Stop:
    """Asks for a stop after some steps, as early stopping does after an evaluation."""

    def __init__(self, steps):
        self.steps = steps

    @hookimpl
    def should_stop(self, trainer, step):
        return "enough" if step + 1 >= self.steps else None


class Watch:
    """Notes what is kept of an evaluation while training goes on."""

    def __init__(self):
        self.kept = []

    @hookimpl
    def before_step(self, trainer):
        self.kept.append(len(trainer.retrievals))


def train(recipe, tmp_path, hooks=(), **settings):
    overrides = {"output": str(tmp_path / "run"), **settings}
    trainer = DefaultTrainer(load_config(recipe, overrides))
    trainer.resume_or_load()
    trainer.register_hooks(list(hooks))
    trainer.train()
    return trainer


def read(trainer):
    plain = json.loads((trainer.folder.path / "details.json").read_text())
    assert plain["schema"] == 1
    return TypeAdapter(list[Detail]).validate_python(plain["details"])


def test_the_last_evaluation_of_a_run_is_described_in_its_folder(tiny_recipe, tmp_path):
    watch = Watch()
    trainer = train(tiny_recipe, tmp_path, [watch])
    (detail,) = read(trainer)
    last = trainer.results.evaluations[-1]
    assert (detail.dataset, detail.step) == (last.dataset, last.step) == ("market1501", 16)
    assert detail.metrics.items() >= last.metrics.items()
    assert detail.features == ""
    assert detail.verification is not None
    assert detail.intervals["mAP"].num_resamples == 1000
    # Identities and cameras as the data spells them.
    names = {entry["query"]["pid"] for entry in trainer.rankings}
    assert names <= set(detail.query_pids)
    assert {entry["query"]["camid"] for entry in trainer.rankings} <= set(
        detail.camera_pairs.query_cameras
    )
    # Embeddings are not kept while training goes on, nor at the end.
    assert len(trainer.results.evaluations) == 2
    assert set(watch.kept) == {0}
    assert trainer.retrievals == []


@pytest.mark.parametrize("steps", [8, 5])
def test_a_run_that_stops_early_describes_the_weights_it_stopped_with(tiny_recipe, tmp_path, steps):
    # After 8 steps an evaluation was due anyway; after 5 it is made because of the stop.
    trainer = train(tiny_recipe, tmp_path, [Stop(steps)])
    (detail,) = read(trainer)
    assert detail.step == trainer.results.evaluations[-1].step == steps


def test_reranked_figures_have_a_record_of_their_own_after_the_plain_one(tiny_recipe, tmp_path):
    trainer = train(
        tiny_recipe,
        tmp_path,
        epochs=1,
        **{"evaluate.rerank": ["k_reciprocal"], "evaluate.features.flip": True},
    )
    plain, reranked = read(trainer)
    told = {evaluation.features for evaluation in trainer.results.evaluations}
    assert told == {plain.features} == {reranked.features}
    assert "mirrored" in plain.features
    assert plain.postprocessing == []
    assert reranked.postprocessing == trainer.results.evaluations[-1].postprocessing
    assert reranked.metrics["mAP"] == trainer.results.evaluations[-1].metrics["mAP"]
    assert reranked.verification != plain.verification


def test_details_can_be_turned_off(tiny_recipe, tmp_path):
    trainer = train(tiny_recipe, tmp_path, epochs=1, **{"evaluate.details": False})
    assert not (trainer.folder.path / "details.json").exists()
    assert trainer.results.evaluations


def test_numbers_that_are_not_defined_are_null_and_the_file_is_strict_json(tmp_path):
    detail = Detail(
        dataset="<名>",
        step=1,
        protocol="p",
        protocol_description="…",
        distance="cosine",
        metrics={"mAP": float("nan"), "auc": 0.5},
        intervals={"mAP": Interval(0.1, float("inf"))},
        failures=[Failure("lost", "…", 1, [4])],
        ap=[None, 0.5],
    )
    path = tmp_path / "details.json"
    write_details(path, [detail])
    (read_back,) = json.loads(path.read_text(), parse_constant=pytest.fail)["details"]
    assert read_back["metrics"] == {"mAP": None, "auc": 0.5}
    assert read_back["intervals"]["mAP"]["high"] is None
    assert read_back["dataset"] == "<名>"
    defined = replace(detail, metrics={"auc": 0.5}, intervals={})
    write_details(path, [defined])
    (again,) = json.loads(path.read_text())["details"]
    assert TypeAdapter(Detail).validate_python(again) == defined
