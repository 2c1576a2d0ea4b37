from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    """The address of an SQLite file that all tests share: to make its tables takes seconds."""
    return f"sqlite:///{tmp_path_factory.mktemp('mlflow') / 'mlflow.db'}"


@pytest.fixture(autouse=True)
def _nobody(store, monkeypatch):
    """Keep the settings of whoever runs the tests out of them."""
    monkeypatch.delenv("MLFLOW_EXPERIMENT_NAME", raising=False)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", store)
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("MLFLOW_LOGGING_LEVEL", "WARNING")
