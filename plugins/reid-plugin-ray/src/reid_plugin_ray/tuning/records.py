"""What became of each trial, as plain records."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from reid_plugin_ray.report_hook import METRICS
from reid_plugin_ray.tuning.folders import error_file, run_folder
from reid_plugin_ray.tuning.request import SweepRequest
from reid_plugin_ray.tuning.sweep import SweepEnd

if TYPE_CHECKING:
    from ray.tune import Result

State: TypeAlias = Literal["completed", "stopped", "failed", "unfinished"]


@dataclass(frozen=True)
class TrialRecord:
    """A trial.

    Args:
        number: Its number, as its run folder has it.
        state: ``completed`` all its epochs, ``stopped`` by a scheduler or a hook, ``failed``, or
            ``unfinished`` where the sweep was interrupted.
        values: The settings that were drawn, by dotted path.
        metrics: What it reported last: ``epoch``, ``step``, ``loss`` and metrics as fractions.
        run: Its run folder.
        error: Why it failed; empty for others.
    """

    number: str
    state: State
    values: Mapping[str, object]
    metrics: Mapping[str, float]
    run: str
    error: str = ""


def records_of(request: SweepRequest, output: Path, end: SweepEnd) -> list[TrialRecord]:
    """Return what became of each trial, by number; mark the runs that a scheduler has ended.

    Args:
        request: The sweep.
        output: Its folder.
        end: How it ended.
    """
    grid = end.results
    found = [_record(grid[at], output, end) for at in range(len(grid))]
    return sorted(found, key=lambda record: record.number)


def best_of(records: Sequence[TrialRecord], request: SweepRequest) -> TrialRecord | None:
    """Return the trial whose last evaluation is best, the first of equal ones; None without.

    Trials that failed are left out.

    Args:
        records: The trials.
        request: The sweep, which says what is best.
    """
    sign = 1 if request.mode == "max" else -1
    able = [
        record
        for record in records
        if record.state != "failed" and math.isfinite(record.metrics.get(request.metric, math.nan))
    ]
    return max(able, key=lambda record: sign * record.metrics[request.metric], default=None)


def _record(result: Result, output: Path, end: SweepEnd) -> TrialRecord:
    reported = cast("Mapping[str, object]", result.metrics or {})
    values = cast("Mapping[str, object]", result.config or {})
    run = run_folder(output, _trial_id(result))
    state = _state(result, run, end)
    if state == "stopped":
        _mark_stopped(run, reported)
    return TrialRecord(
        number=run.name.removeprefix("trial_"),
        state=state,
        values=values,
        metrics={
            key: float(cast("float", value))
            for key, value in reported.items()
            if key in ("step", "epoch", "loss", *METRICS) or key.endswith(METRICS)
        },
        run=str(run),
        error=_error(result, run) if state == "failed" else "",
    )


def _trial_id(result: Result) -> str:
    # Ray's folder of a trial is named by it.
    return Path(result.path).name


def _state(result: Result, run: Path, end: SweepEnd) -> State:
    if result.error is not None:
        return "failed"
    state = _status(run).get("state")
    if state == "completed":
        return "completed"
    if state == "stopped":
        return "stopped"
    return "unfinished" if end.signum is not None else "stopped"


def _status(run: Path) -> dict[str, object]:
    try:
        return cast(
            "dict[str, object]", json.loads((run / "status.json").read_text(encoding="utf-8"))
        )
    except (OSError, ValueError):
        return {}


def _mark_stopped(run: Path, reported: Mapping[str, object]) -> None:
    """Say in a run folder that the run is over; its process was ended and could not."""
    from reid_core.engine.record.run_folder import RunFolder

    status = _status(run)
    if status.get("state") == "running":
        reason = f"ended by the scheduler of the sweep after epoch {reported.get('epoch')}"
        RunFolder(run).write_status("stopped", step=reported.get("step"), reason=reason)


def _error(result: Result, run: Path) -> str:
    note = error_file(run)
    if note.exists():
        return note.read_text(encoding="utf-8")
    lines = str(result.error).strip().splitlines()
    return lines[-1].strip() if lines else type(result.error).__name__
