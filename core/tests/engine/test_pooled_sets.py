"""Sets with a query or a gallery alone, tracklets and draws, from the data set to the figures."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from PIL import Image

from reid_core.config import load_config
from reid_core.data.manifest import Manifest
from reid_core.engine import DefaultTrainer
from reid_core.engine.evaluation.combined import evaluate_combined, join_labels
from reid_core.engine.evaluation.measure import evaluate_model
from reid_core.errors import DataError
from reid_core.evaluation import AnyCamera, Labels, Trial
from reid_core.plugins.registries import DATASETS, PROTOCOLS

PIDS = [1, 1, 1, 1, 2, 2, 2, 2, 3, 4, 3, 3, 4, 4, 5]
CAMERAS = [0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1, 1]


@pytest.fixture
def wild(tmp_path):
    """A set whose test images are all of one split, or of both, registered as ``wild``."""
    folder = tmp_path / "images"
    folder.mkdir()
    for row in range(len(PIDS)):
        pixels = np.random.default_rng(row).integers(0, 255, (32, 16, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{row}.png")

    def build(*, test: str, title: str = "wild", lone: bool = False) -> Manifest:
        tested = {"both": ["query"] * 2 + ["gallery"] * 5}.get(test, [test] * 7)
        return Manifest(
            name=title,
            root=folder,
            paths=np.array([f"{row}.png" for row in range(len(PIDS))]),
            pids=np.array(PIDS[:8] + (list(range(3, 10)) if lone else PIDS[8:])),
            camids=np.array(CAMERAS),
            splits=np.array(["train"] * 8 + tested),
            # One tracklet of each identity and camera.
            columns={"tracklets": np.array(PIDS) * 10 + np.array(CAMERAS)},
        )

    DATASETS.register(build, name="wild")
    yield "wild"
    DATASETS._local.pop("wild")


@pytest.fixture
def settings(tiny_recipe, tmp_path):
    def build(*tests, protocol):
        changes = {
            "output": str(tmp_path / "run"),
            "data.train": [{"name": "wild", "test": "both"}],
            "data.test": list(tests),
            "data.batch": {"sampler": "identity", "identities": 2, "instances": 2},
            "epochs": 1,
            "train.schedule": {"name": "constant"},
            "evaluate.protocol": protocol,
        }
        return load_config(tiny_recipe, changes)

    return build


@pytest.mark.parametrize("split", ["query", "gallery"])
def test_case_b052_a_set_with_one_side_is_trained_and_evaluated_by_leave_one_out(
    wild, settings, split
):
    trainer = DefaultTrainer(settings({"name": "wild", "test": split}, protocol="leave_one_out"))
    trainer.resume_or_load()
    trainer.train()
    (evaluation,) = trainer.results.evaluations
    assert evaluation.protocol == "leave_one_out"
    # Identity 5 has one image.
    assert (evaluation.num_queries, evaluation.num_valid_queries) == (7, 6)
    assert trainer.rankings
    for ranking in trainer.rankings:
        shown = [entry["path"] for entry in ranking["results"]]
        assert len(shown) == 6
        assert ranking["query"]["path"] not in shown


def test_under_another_protocol_it_is_refused_and_leave_one_out_is_named(wild, settings):
    with pytest.raises(DataError, match=r"no gallery images.*evaluate\.protocol=leave_one_out"):
        DefaultTrainer(settings({"name": "wild", "test": "query"}, protocol="market1501"))


def test_a_set_of_training_images_alone_is_evaluated_whole(wild, settings):
    changes = {"name": "wild", "test": "train"}
    with pytest.raises(DataError, match=r"no query images.*evaluate\.protocol=leave_one_out"):
        DefaultTrainer(settings(changes, protocol="market1501"))
    config = settings(changes, protocol="leave_one_out")
    config = config.model_copy(
        update={"data": config.data.model_copy(update={"train": config.data.test_sets})}
    )
    trainer = DefaultTrainer(config)
    (evaluation,) = evaluate_model(config, trainer.model.eval())
    # Identity 5 has one image.
    assert (evaluation.num_queries, evaluation.num_valid_queries) == (len(PIDS), len(PIDS) - 1)
    told = "its images are trained on: its results say nothing about new identities"
    assert told in evaluation.caveats


def test_an_evaluation_without_training_gives_no_advice_on_training(wild, settings):
    config = settings({"name": "wild", "test": "query"}, protocol="leave_one_out")
    model = DefaultTrainer(config).model.eval()
    with pytest.raises(DataError, match=r"by --set evaluate\.protocol=leave_one_out$"):
        evaluate_model(settings({"name": "wild", "test": "query"}, protocol="market1501"), model)


def test_the_pool_is_the_same_however_it_is_cut(wild, settings):
    figures = []
    for test in ("query", "both"):
        config = settings({"name": "wild", "test": test}, protocol="leave_one_out")
        trainer = DefaultTrainer(config)
        figures.append(evaluate_model(config, trainer.model.eval())[0].metrics)
    assert figures[0] == pytest.approx(figures[1], abs=1e-6)


def test_tracklets_are_ranked_by_their_first_frames(wild, settings):
    trainer = DefaultTrainer(settings({"name": "wild", "test": "both"}, protocol="tracklets"))
    (evaluator,) = trainer.evaluators
    found = evaluator.evaluate(trainer.model.eval(), lambda: None)
    assert (found.result.num_queries, found.result.num_gallery) == (2, 3)
    for ranking in evaluator.rankings(found):
        assert len(ranking["results"]) == 3
        assert sum(entry["match"] for entry in ranking["results"]) == 1


@pytest.mark.parametrize("protocol", ["leave_one_out", "tracklets", "cuhk03", "open_set"])
def test_two_sets_together_give_the_counts_of_both(wild, settings, protocol):
    config = settings(
        {"name": "wild", "test": "both"},
        {"name": "wild", "test": "both", "title": "other"},
        protocol=protocol,
    )
    trainer = DefaultTrainer(config)
    alone = [one.evaluate(trainer.model.eval(), lambda: None) for one in trainer.evaluators]
    (together,) = evaluate_combined(trainer.evaluators, alone, config).measured.results
    assert together.num_queries == sum(one.result.num_queries for one in alone)
    assert together.num_gallery == sum(one.result.num_gallery for one in alone)
    assert together.num_valid_queries == sum(one.result.num_valid_queries for one in alone)
    assert together.num_matches.sum() == sum(one.result.num_matches.sum() for one in alone)


def test_tracklets_of_two_sets_never_meet_and_those_of_a_set_without_cameras_stay_whole():
    def side(groups):
        return Labels(
            np.ones(len(groups), int), np.zeros(len(groups), int), {"tracklets": np.array(groups)}
        )

    pair = (side([1, 1]), side([1, 2, 2]))
    query, gallery = join_labels([pair, pair], [True, False])
    assert query.columns["tracklets"].tolist() == ["0:1", "0:1", "1:1", "1:1"]
    assert len(set(gallery.columns["tracklets"].tolist())) == 4
    assert query.camids[2] == query.camids[3]
    assert gallery.camids[4] == gallery.camids[5]
    assert len({query.camids[2], gallery.camids[3], gallery.camids[4]}) == 3


@dataclass(frozen=True)
class TwoDraws(AnyCamera):
    pools: ClassVar[bool] = True

    def trials(self, query, gallery):
        return [
            Trial(np.array([0, 1]), np.array([2, 3, 4, 5, 6])),
            Trial(np.array([2, 4]), np.array([0, 1, 3, 5, 6])),
        ]


def test_draws_of_a_third_partys_protocol_are_stated_beside_the_figures(wild, settings):
    PROTOCOLS.register(lambda: TwoDraws("two_draws", "two draws"), name="two_draws")
    try:
        trainer = DefaultTrainer(settings({"name": "wild", "test": "both"}, protocol="two_draws"))
        trainer.resume_or_load()
        trainer.train()
    finally:
        PROTOCOLS.unregister("two_draws")
    (evaluation,) = trainer.results.evaluations
    assert evaluation.num_trials == 2
    assert "mean of 2 draws" in evaluation.line()
    # Two in each draw.
    assert evaluation.num_queries == 2
    # Rankings are of the first draw.
    asked = {ranking["query"]["path"].rsplit("/")[-1] for ranking in trainer.rankings}
    assert asked <= {"8.png", "9.png"}
    assert asked


def test_case_b052_lone_identities_alone_are_refused_before_training(wild, settings):
    lone = {"name": "wild", "test": "query", "lone": True}
    with pytest.raises(
        DataError, match=r"none of 7 identities has two images, so nobody can"
    ) as it:
        DefaultTrainer(settings(lone, protocol="leave_one_out"))
    assert "all figures are undefined" in str(it.value)
