"""What a record that is continued holds already."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient


class KnownSteps:
    """Says which values are new to a record.

    MLflow would keep both values of a step that a resumed run does again. They are the same, so
    the second is left out.

    Args:
        client: A client of the store.
        run_id: The record.
        is_new: Whether the record has just been made; nothing is asked for then.
    """

    def __init__(self, client: MlflowClient, run_id: str, *, is_new: bool) -> None:
        self._client = client
        self._run_id = run_id
        self._is_new = is_new
        self._newest: dict[str, int] = {}

    def is_known(self, name: str, step: int) -> bool:
        """Say whether the record has a value of this step, or of a later one, from before.

        Args:
            name: Name of the metric.
            step: Number of steps done.
        """
        if self._is_new:
            return False
        if name not in self._newest:
            history = self._client.get_metric_history(self._run_id, name)
            self._newest[name] = max((value.step for value in history), default=-1)
        return step <= self._newest[name]
