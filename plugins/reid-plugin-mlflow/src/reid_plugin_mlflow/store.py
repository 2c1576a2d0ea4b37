"""Where records go."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

_SQLITE = "sqlite:///"


def resolve_uri(tracking_uri: str | None) -> str:
    """Return the address of the store.

    Args:
        tracking_uri: As of the hook; None for ``MLFLOW_TRACKING_URI``, and without that an SQLite
            file, ``runs/mlflow.db`` in the working folder.
    """
    given = tracking_uri or os.environ.get("MLFLOW_TRACKING_URI")
    return given or f"{_SQLITE}{(Path.cwd() / 'runs/mlflow.db').as_posix()}"


def find_experiment(client: MlflowClient, name: str, uri: str) -> str:
    """Return the id of an experiment, which is made if there is none.

    Args:
        client: A client of the store.
        name: Name of the experiment.
        uri: Address of the store. Files of records in an SQLite file go beside it, to
            ``mlartifacts``; MLflow itself would put them into the working folder.
    """
    from mlflow.exceptions import MlflowException

    found = client.get_experiment_by_name(name)
    if found is None:
        try:
            return str(client.create_experiment(name, artifact_location=_files_of(uri)))
        except MlflowException:
            # Another run that begins right now may have made it.
            found = client.get_experiment_by_name(name)
            if found is None:
                raise
    return str(found.experiment_id)


def make_folder(uri: str) -> None:
    """Make the folder that an SQLite file is to lie in."""
    if (path := _sqlite_path(uri)) is not None:
        path.parent.mkdir(parents=True, exist_ok=True)


def _files_of(uri: str) -> str | None:
    path = _sqlite_path(uri)
    return None if path is None else (path.parent / "mlartifacts").as_uri()


def _sqlite_path(uri: str) -> Path | None:
    return Path(uri.removeprefix(_SQLITE)).resolve() if uri.startswith(_SQLITE) else None
