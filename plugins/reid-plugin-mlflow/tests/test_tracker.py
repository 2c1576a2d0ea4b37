"""With the real MLflow, on an SQLite file."""

from __future__ import annotations

import math
import sys
from collections import Counter
from pathlib import Path

import pytest

from reid_core.engine import Interrupted
from reid_core.errors import ConfigError
from reid_core.hooks.tracker import RunInfo
from reid_core.hookspecs import hookimpl
from reid_core.testing.tiny_run import PlannedError, TinyRun, TinyTrainer
from reid_plugin_mlflow.tracker import Mlflow


class StopAt:
    @hookimpl
    def after_step(self, trainer, step):
        if step == 4:
            trainer.request_stop(15)


@pytest.fixture
def client(store):
    from mlflow.tracking import MlflowClient

    return MlflowClient(tracking_uri=store)


@pytest.fixture
def tiny(tmp_path):
    """Make a trainer whose record lies in an experiment that is named by the test's folder."""

    def make(*, fails_at=None, settings=(), **parameters):
        hook = {"name": "mlflow", "experiment": tmp_path.name, **parameters}
        plain = {"hooks": [hook], "evaluate.every": 0, **dict(settings)}
        return TinyTrainer(TinyRun(settings=plain).config(tmp_path), fails_at=fails_at)

    return make


@pytest.fixture
def records(client, tmp_path):
    """Return what reads the records of the test."""

    def read():
        experiment = client.get_experiment_by_name(tmp_path.name)
        return list(client.search_runs([experiment.experiment_id]))

    return read


def run_in(folder, run_id=None, **config):
    return RunInfo(
        name="mine/1",
        recipe="mine",
        folder=folder,
        config=config,
        components=(),
        environment={},
        tags=(),
        run_id=run_id,
    )


def test_a_run_is_in_the_store_with_all_that_belongs_to_it(
    tiny, records, client, tmp_path, store, monkeypatch
):
    monkeypatch.setattr(sys, "argv", ["train", "--password=hunter2"])
    trainer = tiny(
        run_name="first",
        tags={"team": "a"},
        artifacts=["config", "report", "weights"],
        settings={"evaluate.every": 1},
    )
    trainer.train()
    (record,) = records()
    (name,) = {evaluator.name for evaluator in trainer.evaluators}
    assert record.info.run_name == "first"
    assert record.info.status == "FINISHED"
    assert record.data.params["train.optimizer.lr"] == "0.01"
    assert record.data.params["data.image_size.0"] == "32"
    assert record.data.tags["team"] == "a"
    assert record.data.tags["reid.folder"] == str(tmp_path / "run")
    assert record.data.tags["reid.env.torch"]
    assert "hunter2" not in str(record.data.tags)
    history = {
        tag: [
            (value.step, value.value)
            for value in client.get_metric_history(record.info.run_id, tag)
        ]
        for tag in ("train/loss", "lr", "epoch", f"val/{name}/mAP")
    }
    assert [step for step, _ in history["train/loss"]] == [2, 4, 6, 8]
    assert history["epoch"][-1] == (8, 2.0)
    assert history[f"val/{name}/mAP"][-1] == (8, trainer.results.latest()[name]["mAP"])
    assert record.data.metrics[f"best/{name}/mAP"] == trainer.results.best.value
    files = {
        kind: [entry.path for entry in client.list_artifacts(record.info.run_id, kind)]
        for kind in ("config", "report", "weights")
    }
    assert files == {
        "config": ["config/config.yaml"],
        "report": ["report/report.html"],
        "weights": ["weights/best.safetensors"],
    }
    beside = Path(store.removeprefix("sqlite:///")).parent / "mlartifacts"
    assert record.info.artifact_uri.startswith(beside.as_uri())


def test_a_resumed_run_goes_on_with_the_same_record(tiny, records, client, tmp_path):
    trainer = tiny()
    trainer.register_hooks([StopAt()])
    with pytest.raises(Interrupted):
        trainer.train()
    (record,) = records()
    assert record.info.status == "KILLED"
    # As after a kill: the record is ahead of the checkpoint.
    client.log_metric(record.info.run_id, "train/loss", 7.0, step=6)
    resumed = tiny()
    resumed.resume_or_load("auto")
    resumed.train()
    (record,) = records()
    assert record.info.status == "FINISHED"
    history = client.get_metric_history(record.info.run_id, "train/loss")
    assert Counter(value.step for value in history) == {2: 1, 4: 1, 6: 1, 8: 1}


def test_what_a_resumed_run_changed_in_its_configuration_becomes_tags(tmp_path, store, client):
    first = Mlflow(experiment=tmp_path.name)
    run_id = first.start(run_in(tmp_path, lr=0.1, seed=1))
    first.end("interrupted", {})
    second = Mlflow()
    assert second.start(run_in(tmp_path, run_id, lr=0.2, seed=1, new="x")) == run_id
    second.end("stopped", {})
    data = client.get_run(run_id).data
    assert data.params == {"lr": "0.1", "seed": "1", "new": "x"}
    assert data.tags["changed.lr"] == "0.2"
    assert "changed.seed" not in data.tags
    assert client.get_run(run_id).info.status == "FINISHED"


def test_a_run_that_fails_is_in_the_store_as_failed(tiny, records):
    with pytest.raises(PlannedError):
        tiny(fails_at=3).train()
    (record,) = records()
    assert record.info.status == "FAILED"


def test_many_parameters_and_odd_numbers_are_taken(tmp_path, client):
    tracker = Mlflow(experiment=tmp_path.name)
    values = {f"key {number} [%]": number for number in range(230)}
    run_id = tracker.start(run_in(tmp_path, **values, long="x" * 7000))
    tracker.log(1, {"a+b/mAP": math.nan, "c": math.inf})
    tracker.end("completed", {})
    data = client.get_run(run_id).data
    assert len(data.params) == 231
    assert data.params["key 7 ___"] == "7"
    assert len(data.params["long"]) == 6000
    assert math.isnan(data.metrics["a_b/mAP"])
    assert data.metrics["c"] > 1e308


def test_a_store_that_cannot_be_reached_costs_the_run_nothing(tiny, tmp_path, caplog):
    (tmp_path / "file").write_text("")
    trainer = tiny(tracking_uri=f"sqlite:///{tmp_path / 'file/mlflow.db'}")
    assert trainer.train().status == "completed"
    (line,) = [record.message for record in caplog.records if "switched off" in record.message]
    assert "hook 'mlflow' (reid-plugin-mlflow 0.1.0) failed in before_train" in line
    assert "the run goes on without it" in line


def test_mlflow_s_own_state_is_left_alone(tmp_path, store):
    import mlflow

    before = mlflow.get_tracking_uri()
    tracker = Mlflow(tracking_uri=store, experiment=tmp_path.name)
    tracker.start(run_in(tmp_path))
    assert mlflow.active_run() is None
    assert mlflow.get_tracking_uri() == before
    tracker.end("completed", {})


def test_an_unknown_artifact_is_refused():
    with pytest.raises(ConfigError, match="hook Mlflow: artifacts holds 'video'; expected config"):
        Mlflow(artifacts=["video"])
