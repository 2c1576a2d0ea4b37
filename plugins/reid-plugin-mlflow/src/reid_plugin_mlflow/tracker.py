"""A run in MLflow."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reid_core.hooks.tracker import ArtifactKind, RunInfo, Status, Tracker
from reid_plugin_mlflow.limits import flat_parameters, valid_name
from reid_plugin_mlflow.steps import KnownSteps
from reid_plugin_mlflow.store import find_experiment, make_folder, resolve_uri

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

#: Parameters or tags that MLflow takes at once.
_AT_ONCE = 100

_STATUS: Mapping[Status, str] = {
    "completed": "FINISHED",
    "stopped": "FINISHED",
    "failed": "FAILED",
    "interrupted": "KILLED",
}


class Mlflow(Tracker):
    """Sends configuration, numbers and files to an MLflow server, or to an SQLite file.

    A resumed run goes on with the same record; steps that it does again are left out there.
    MLflow's own state, its active run and its addresses, is neither used nor changed.

    Args:
        tracking_uri: Address of the store; by default ``MLFLOW_TRACKING_URI``, and without that an
            SQLite file, ``runs/mlflow.db`` in the working folder.
        experiment: Name of the experiment; by default ``MLFLOW_EXPERIMENT_NAME``, and without that
            the recipe's name.
        run_name: Name of the record; by default recipe and run folder.
        tags: Tags of the record, by name.
        artifacts: Files that are sent: ``config``, ``report``, ``weights`` (the best ones).
        wait_seconds: The longest time that the end of a run waits for what is still to be sent.

    Raises:
        ConfigError: A parameter is none of those that are possible.
    """

    def __init__(
        self,
        *,
        tracking_uri: str | None = None,
        experiment: str | None = None,
        run_name: str | None = None,
        tags: Mapping[str, str] | None = None,
        artifacts: Sequence[ArtifactKind] = ("config", "report"),
        wait_seconds: float = 60.0,
    ) -> None:
        super().__init__(artifacts=artifacts, wait_seconds=wait_seconds)
        self._tracking_uri = tracking_uri
        self._experiment = experiment
        self._run_name = run_name
        self._tags = dict(tags or {})
        self._client: MlflowClient | None = None
        self._record = ""
        self._known: KnownSteps | None = None

    def import_library(self) -> None:
        """Import MLflow, which takes a second or more."""
        import mlflow.tracking  # noqa: F401 — where it fails, it fails here

    def start(self, run: RunInfo) -> str:
        """Begin a record, or go on with one.

        Returns:
            Its id.
        """
        from mlflow.tracking import MlflowClient

        uri = resolve_uri(self._tracking_uri)
        make_folder(uri)
        client = MlflowClient(tracking_uri=uri, registry_uri=uri)
        if run.run_id is None:
            name = self._experiment or os.environ.get("MLFLOW_EXPERIMENT_NAME") or run.recipe
            made = client.create_run(
                find_experiment(client, name, uri),
                run_name=self._run_name or run.name,
                tags=self._all_tags(run),
            )
            self._record = str(made.info.run_id)
        else:
            self._record = run.run_id
            client.update_run(self._record, status="RUNNING")
        self._client = client
        self._known = KnownSteps(client, self._record, is_new=run.run_id is None)
        self._send_parameters(client, flat_parameters(run.config))
        return self._record

    def log(self, step: int, scalars: Mapping[str, float]) -> None:
        """Add the values of a row that are new."""
        from mlflow.entities import Metric

        if self._client is None or self._known is None:
            return
        now = time.time_ns() // 1_000_000
        named = {valid_name(tag): float(value) for tag, value in scalars.items()}
        metrics = [
            Metric(name, value, now, step)
            for name, value in named.items()
            if not self._known.is_known(name, step)
        ]
        if metrics:
            self._client.log_batch(self._record, metrics=metrics)

    def log_artifact(self, path: Path, kind: ArtifactKind) -> None:
        """Send a file, into a folder that is named by its kind."""
        if self._client is not None:
            self._client.log_artifact(self._record, str(path), kind)

    def end(self, status: Status, summary: Mapping[str, float]) -> None:
        """Close the record, with the best evaluation among its metrics."""
        if self._client is None:
            return
        self.log(int(summary.get("best/step", 0)), summary)
        self._client.set_terminated(self._record, _STATUS[status])
        self._client = None

    def _all_tags(self, run: RunInfo) -> dict[str, str]:
        return {
            "reid.folder": str(run.folder.resolve()),
            "reid.tags": ", ".join(run.tags),
            "reid.components": ", ".join(run.components),
            **flat_parameters({"reid": {"env": run.environment}}),
            **self._tags,
        }

    def _send_parameters(self, client: MlflowClient, parameters: Mapping[str, str]) -> None:
        """Send the configuration; what a resumed run changed in it becomes tags."""
        from mlflow.entities import Param, RunTag

        before = client.get_run(self._record).data.params
        new = [Param(k, v) for k, v in parameters.items() if k not in before]
        # A parameter cannot be changed.
        changed = [
            RunTag(f"changed.{k}"[:250], v) for k, v in parameters.items() if before.get(k, v) != v
        ]
        for start in range(0, len(new), _AT_ONCE):
            client.log_batch(self._record, params=new[start : start + _AT_ONCE])
        for start in range(0, len(changed), _AT_ONCE):
            client.log_batch(self._record, tags=changed[start : start + _AT_ONCE])
