from __future__ import annotations

from pathlib import Path

import pytest

from reid_plugin_mlflow.store import find_experiment, make_folder, resolve_uri


class Client:
    """A store whose experiment another run makes in the meantime."""

    def __init__(self, *, appears):
        self.appears, self.asked = appears, 0

    def get_experiment_by_name(self, name):
        self.asked += 1
        if self.asked == 1 or not self.appears:
            return None
        return type("Experiment", (), {"experiment_id": 7})()

    def create_experiment(self, name, artifact_location):
        from mlflow.exceptions import MlflowException

        self.location = artifact_location
        raise MlflowException("it exists")


def test_the_store_is_what_was_named_or_mlflow_s_own_or_a_file(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://host:5000")
    assert resolve_uri("sqlite:///a.db") == "sqlite:///a.db"
    assert resolve_uri(None) == "http://host:5000"
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    assert resolve_uri(None) == f"sqlite:///{tmp_path.resolve()}/runs/mlflow.db"


def test_the_folder_of_an_sqlite_file_is_made(tmp_path):
    make_folder("http://host:5000")
    assert list(tmp_path.iterdir()) == []
    make_folder(f"sqlite:///{tmp_path}/a/b/c.db")
    assert list((tmp_path / "a").iterdir()) == [tmp_path / "a/b"]


def test_two_runs_may_make_an_experiment_at_once():
    from mlflow.exceptions import MlflowException

    client = Client(appears=True)
    assert find_experiment(client, "x", "http://host:5000") == "7"
    assert client.location is None, "a server knows where its files go"
    with pytest.raises(MlflowException, match="it exists"):
        find_experiment(Client(appears=False), "x", "http://host:5000")


def test_files_of_an_sqlite_store_lie_beside_it(tmp_path):
    client = Client(appears=True)
    find_experiment(client, "x", f"sqlite:///{tmp_path}/a.db")
    assert client.location == (Path(tmp_path).resolve() / "mlartifacts").as_uri()
