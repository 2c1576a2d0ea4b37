"""Read a run folder, whatever is missing from it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import TypeAdapter, ValidationError

from reid_core.report.details import DetailsFile, details_adapter, shape_problem, with_nan
from reid_core.report.metrics import Metrics, read_metrics
from reid_core.report.records import BrokenImage, BrokenImages, Component, Rankings, Results

if TYPE_CHECKING:
    from reid_core.evaluation.detail import Detail

T = TypeVar("T")

#: What the page says when a file is not there.
_MISSING = {
    "metrics.jsonl": "nothing was logged yet, so there are no curves",
    "results.json": "no evaluation was made yet, so there are no results",
    "ranks.json": "no ranked galleries were recorded",
    "details.json": (
        "no evaluation was described in full, so there are no intervals, no ROC and no failures"
    ),
    "components.json": "the components of the run are unknown",
    "env.json": "the environment of the run is unknown",
    "config.yaml": "the configuration of the run is unknown",
    "status.json": "how the run ended is unknown",
}

#: The outcome that ``results.json`` of an evaluation has.
EVALUATED = "evaluated"
#: What an evaluation has no file of, or not always; that they are missing says nothing then.
_OF_RUNS_ONLY = tuple(
    f"{name} is missing"
    for name in ("metrics.jsonl", "components.json", "config.yaml", "env.json", "status.json")
)


@dataclass(frozen=True)
class RunFolder:
    """All that a run folder says.

    Args:
        name: The folder's name.
        metrics: Curves; empty where none were logged.
        results: Evaluations, or None.
        details: All that is known of the last evaluations; empty where they were not described.
        rankings: Ranked galleries, or None.
        broken: Images that the run went on without.
        components: What the run was built from.
        environment: Versions and hardware, as written.
        status: How the run ended, as written.
        config: The resolved configuration as text, or None.
        is_evaluation: Whether it is no run but an evaluation, of weights or of embeddings.
        notes: What is missing or damaged, one sentence each.
    """

    name: str
    metrics: Metrics
    results: Results | None
    details: tuple[Detail, ...]
    rankings: Rankings | None
    broken: tuple[BrokenImage, ...]
    components: tuple[Component, ...]
    environment: Mapping[str, object]
    status: Mapping[str, object]
    config: str | None
    is_evaluation: bool
    notes: tuple[str, ...]


def read_run_folder(run_dir: Path) -> RunFolder:
    """Read what is there; what is missing or damaged becomes a note, never an exception.

    Args:
        run_dir: A run folder.
    """
    reader = _Reader(run_dir)
    metrics = reader.metrics()
    results = reader.json("results.json", TypeAdapter(Results))
    is_evaluation = results is not None and results.outcome == EVALUATED
    return RunFolder(
        name=run_dir.resolve().name,
        metrics=metrics,
        results=results,
        details=reader.details(),
        rankings=reader.json("ranks.json", TypeAdapter(Rankings)),
        broken=reader.broken(),
        components=reader.json("components.json", TypeAdapter(tuple[Component, ...])) or (),
        environment=reader.json("env.json", TypeAdapter(dict[str, object])) or {},
        status=reader.json("status.json", TypeAdapter(dict[str, object])) or {},
        config=reader.text("config.yaml"),
        is_evaluation=is_evaluation,
        notes=tuple(
            note for note in reader.notes if not (is_evaluation and note.startswith(_OF_RUNS_ONLY))
        ),
    )


class _Reader:
    """Reads files of one folder and remembers what it could not read."""

    def __init__(self, run_dir: Path) -> None:
        self.run_dir = run_dir
        self.notes: list[str] = []

    def metrics(self) -> Metrics:
        try:
            metrics = read_metrics(self.run_dir / "metrics.jsonl")
        except OSError as error:
            self._note("metrics.jsonl", error)
            return Metrics()
        if metrics.num_damaged_lines:
            self.notes.append(
                f"metrics.jsonl: damaged lines left out: {metrics.num_damaged_lines}."
            )
        elif not metrics.series:
            self.notes.append(f"metrics.jsonl is empty: {_MISSING['metrics.jsonl']}.")
        return metrics

    def details(self) -> tuple[Detail, ...]:
        name = "details.json"
        found = self.json(name, TypeAdapter(DetailsFile))
        if found is None or not found.details:
            return ()
        details = self.checked(name, details_adapter(), with_nan(found.details)) or ()
        problem = shape_problem(details)
        if problem:
            self.notes.append(f"{name} is not shown: {problem}.")
            return ()
        return details

    def broken(self) -> tuple[BrokenImage, ...]:
        if not (self.run_dir / "broken_images.json").exists():
            return ()
        found = self.json("broken_images.json", TypeAdapter(BrokenImages))
        return () if found is None else found.images

    def text(self, name: str) -> str | None:
        try:
            return (self.run_dir / name).read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            self._note(name, error)
            return None

    def json(self, name: str, adapter: TypeAdapter[T]) -> T | None:
        text = self.text(name)
        if text is None:
            return None
        try:
            return self.checked(name, adapter, json.loads(text))
        except (ValueError, RecursionError) as error:
            self.notes.append(f"{name} is not shown: it is no JSON ({error}).")
        return None

    def checked(self, name: str, adapter: TypeAdapter[T], value: object) -> T | None:
        try:
            return adapter.validate_python(value)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"]) or "top level"
            self.notes.append(f"{name} is not shown: at {place}: {first['msg']}.")
        return None

    def _note(self, name: str, error: OSError) -> None:
        if isinstance(error, FileNotFoundError):
            self.notes.append(f"{name} is missing: {_MISSING[name]}.")
        else:
            self.notes.append(f"{name} cannot be read: {error.strerror}.")
