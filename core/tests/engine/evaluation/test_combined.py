"""Several test sets as one: nobody is taken for somebody of another set."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch

from reid_core.config import load_config
from reid_core.engine import DefaultTrainer
from reid_core.engine.evaluation.combined import join_labels
from reid_core.engine.evaluation.measure import evaluate_model
from reid_core.errors import ConfigError
from reid_core.evaluation import Labels, Protocol, market1501, no_camera
from reid_core.evaluation.distances.distance import pairwise_distance
from reid_core.evaluation.protocols.cameras import OtherCameras
from reid_core.evaluation.protocols.sysu_mm01 import sysu_mm01
from reid_core.plugins.registries import PROTOCOLS
from reid_core.testing import write_tiny_market

SMALL = {"identities": 4, "test_identities": 3, "cameras": 2, "shots": 2}


def labels(pids, camids, **columns):
    return Labels(
        np.array(pids), np.array(camids), {name: np.array(v) for name, v in columns.items()}
    )


FIRST = (labels([1, 2], [0, 1]), labels([1, 2, -1, 0], [1, 0, 0, 2]))
SECOND = (labels([2, 1], [1, 1]), labels([2, 2, 1], [1, 3, 1]))


def test_identities_and_cameras_of_two_sets_never_meet():
    query, gallery = join_labels([FIRST, SECOND], [True, True])
    # -1 stays junk; the others are numbered set by set: 0, 1, 2 and then 1, 2.
    assert gallery.pids.tolist() == [3, 4, -1, 2, 6, 6, 5]
    assert query.pids.tolist() == [3, 4, 6, 5]
    assert not set(query.camids[:2].tolist()) & set(gallery.camids[4:].tolist())
    assert query.camids[0] == gallery.camids[1], "inside a set cameras stay what they were"


def test_columns_that_mean_other_things_are_left_out_and_numbers_meet_text():
    def side(attributes, sequences):
        return labels([1, 2], [0, 1], attributes=attributes, sequences=sequences)

    one = side([[0, 1], [1, 0]], [3, 4])
    other = side([[0, 1, 1], [1, 0, 0]], ["a", "b"])
    query, gallery = join_labels([(one, one), (other, other)], [True, True])
    for joined in (query, gallery):
        assert sorted(joined.columns) == ["sequences"]
        assert joined.columns["sequences"].tolist() == ["3", "4", "a", "b"]


def test_each_query_keeps_exactly_the_matches_it_had():
    query, gallery = join_labels([FIRST, SECOND], [True, True])
    rule = market1501()

    def matches(asked, searched):
        allowed = ~rule.excluded(asked, searched)
        return (allowed & (asked.pids[:, None] == searched.pids)).sum(1).tolist()

    assert matches(query, gallery) == matches(*FIRST) + matches(*SECOND)


def test_no_match_of_a_set_without_cameras_is_left_out():
    blind = (labels([1, 2], [0, 0]), labels([1, 2, 2], [0, 0, 0]))
    query, gallery = join_labels([FIRST, blind], [True, False])
    excluded = market1501().excluded(query, gallery)
    assert not excluded[2:, 4:].any()
    assert not no_camera().excluded(query, gallery)[:, [0, 1, 3, 4]].any()


def test_columns_that_all_sets_have_come_along():
    first = (
        labels([1], [0], viewids=[3], clothids=["a"]),
        labels([1], [1], viewids=[4], clothids=["b"]),
    )
    second = (labels([1], [0], viewids=[5]), labels([1], [1], viewids=[6]))
    query, gallery = join_labels([first, second], [True, True])
    assert list(query.columns) == ["viewids"]
    assert query.column("viewids").tolist() == [3, 5]
    assert gallery.column("viewids").tolist() == [4, 6]


@pytest.fixture
def two_sets(tiny_recipe, tmp_path):
    other = write_tiny_market(tmp_path / "other", test_identities=3, size=(40, 24))
    train = load_config(tiny_recipe).plain()["data"]["train"]
    second = {"name": "market1501", "root": str(other), "title": "other"}
    return load_config(
        tiny_recipe,
        {
            "output": str(tmp_path / "run"),
            "evaluate.combine": True,
            "data.test": [*train, second],
            "epochs": 1,
            "train.schedule": {"name": "constant"},
        },
    )


def test_a_run_gives_the_figures_of_each_set_and_of_all_together(two_sets):
    trainer = DefaultTrainer(two_sets)
    trainer.resume_or_load()
    trainer.train()
    latest = trainer.results.latest()
    assert list(latest) == ["market1501", "other", "market1501+other"]
    assert trainer.results.best.dataset == "market1501"
    again = {one.dataset: one.metrics for one in evaluate_model(two_sets, trainer.model.eval())}
    assert again == latest
    assert latest["market1501+other"]["mAP"] == pytest.approx(slow_map(trainer), abs=1e-9)


def slow_map(trainer):
    """The mean average precision over both sets, a query and an entry at a time."""
    sides = []
    for evaluator in trainer.evaluators:
        found = evaluator.evaluate(trainer.model, lambda: None)
        sides.append((found.query, found.gallery))
    scores = []
    for own, (query, _) in enumerate(sides):
        for row in range(len(query)):
            ranked = []
            for other, (_, gallery) in enumerate(sides):
                distances = pairwise_distance(
                    query.features[row : row + 1], gallery.features, metric="cosine"
                )[0]
                for column, distance in enumerate(distances.tolist()):
                    pid, camid = int(gallery.pids[column]), int(gallery.camids[column])
                    is_same = own == other and pid == query.pids[row]
                    if pid == -1 or (is_same and camid == query.camids[row]):
                        continue
                    ranked.append((distance, is_same))
            ranked.sort()
            hits = [place for place, (_, is_same) in enumerate(ranked, 1) if is_same]
            if hits:
                scores.append(np.mean([n / place for n, place in enumerate(hits, 1)]))
    assert torch.is_tensor(sides[0][0].features)
    return np.mean(scores)


@dataclass(frozen=True)
class OtherSide(Protocol):
    """A protocol that reads a column of the test set."""

    def excluded(self, query, gallery):
        return query.column("viewids")[:, None] == gallery.column("viewids")


def test_a_run_is_evaluated_by_a_protocol_that_reads_a_column(tiny_recipe, tmp_path):
    PROTOCOLS.register(lambda: OtherSide("other_side", "another side"), name="other_side")
    try:
        settings = {
            "output": str(tmp_path / "run"),
            "data.train": {"name": "synthetic", "root": str(tmp_path), **SMALL},
            "data.batch": {"sampler": "balanced_identity", "identities": 2, "across": "viewids"},
            "train.schedule": {"name": "constant"},
            "epochs": 1,
            "evaluate.protocol": "other_side",
        }
        trainer = DefaultTrainer(load_config(tiny_recipe, settings))
        trainer.resume_or_load()
        trainer.train()
    finally:
        PROTOCOLS.unregister("other_side")
    (evaluation,) = trainer.results.evaluations
    assert evaluation.protocol == "other_side"
    views = {
        (trainer.sources.test_sets()[0].rows.root / path).as_posix(): view
        for path, view in zip(
            trainer.sources.test_sets()[0].rows.paths.tolist(),
            trainer.sources.test_sets()[0].rows.columns["viewids"].tolist(),
            strict=True,
        )
    }
    for ranking in trainer.rankings:
        own = views[Path(ranking["query"]["path"]).as_posix()]
        shown = [views[Path(one["path"]).as_posix()] for one in ranking["results"]]
        assert shown
        assert own not in shown


def test_a_protocol_that_reads_camera_numbers_is_refused_before_training(two_sets, monkeypatch):
    monkeypatch.setattr(OtherCameras, "reads_camera_numbers", True)
    with pytest.raises(ConfigError, match=r"evaluate.combine: protocol market1501 .*\+other are"):
        DefaultTrainer(two_sets)
    assert sysu_mm01().reads_camera_numbers
