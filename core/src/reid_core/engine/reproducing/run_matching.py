"""Comparing a run with one that did it again: metrics, figures and weights, bit for bit."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import safe_open

from reid_core.checkpoint.artifact import read_info
from reid_core.engine.reproducing.reproduction import (
    FigureDifference,
    Reproduction,
    RowDifference,
    WeightsComparison,
)
from reid_core.errors import UsageError

#: Numbers that no two runs have in common.
_VOLATILE = ("time/", "memory/")
#: How a run ends that has done all it would.
_WHOLE = ("completed", "stopped")

#: Steps done, and the numbers of a row of the metric log.
_Row = tuple[int, dict[str, float | None]]


def steps_to_repeat(run: Path) -> int | None:
    """Return after how many steps a repetition of a run shall stop; None is at its end.

    A run that was interrupted, failed or was killed is compared as far as its last weights go, or,
    without any, its metrics.

    Args:
        run: Its folder.

    Raises:
        UsageError: It holds nothing that a repetition could be compared with.
    """
    rows = _rows(run / "metrics.jsonl")
    weights = _last_weights(run)
    if not rows and not weights.is_file():
        raise UsageError(
            f"--reproduce {run}: it has neither metrics.jsonl nor weights, so there is nothing to "
            "compare with; train it anew with --config"
        )
    if _status(run) in _WHOLE:
        return None
    step = _step_of(weights)
    return step if step else (rows[-1][0] or None) if rows else None


def compare_runs(run: Path, repetition: Path) -> Reproduction:
    """Compare a run with its repetition, in all but what time it took.

    Args:
        run: Folder of the run.
        repetition: Folder of the one that did it again.

    Returns:
        What is equal and what is not.

    Raises:
        UsageError: The figures of a run cannot be read.
        CheckpointError: Its weights cannot.
    """
    notes: list[str] = []
    before, after = _rows(run / "metrics.jsonl"), _rows(repetition / "metrics.jsonl")
    stop = steps_to_repeat(run)
    if stop is not None:
        notes.append(
            f"the run ended as {_status(run) or 'unknown'}: it is compared up to step {stop}"
        )
        before = [row for row in before if row[0] <= stop]
        # A run that is stopped writes rows at its end that an interrupted one leaves out.
        after = after[: len(before)]
    figures = _figures(run, stop)
    known = _figures(repetition, None)
    return Reproduction(
        num_rows=len(before),
        last_step=before[-1][0] if before else 0,
        first=_first_difference(before, after),
        num_figures=len(figures),
        figures=tuple(
            FigureDifference(dataset, step, metric, was, known.get((dataset, step, metric)))
            for (dataset, step, metric), was in figures.items()
            if not _is_same(known.get((dataset, step, metric)), was)
        ),
        weights=_compare_weights(_last_weights(run), _last_weights(repetition), notes),
        notes=tuple(notes),
    )


def _first_difference(
    before: list[_Row],
    after: list[_Row],
) -> RowDifference | None:
    for (step, was), (other, now) in zip(before, after, strict=False):
        if step != other:
            return RowDifference(min(step, other), "", None, None)
        for name in {**was, **now}:
            if (name in was) != (name in now) or not _is_same(was.get(name), now.get(name)):
                return RowDifference(step, name, was.get(name), now.get(name))
    longer = max(before, after, key=len)
    shared = min(len(before), len(after))
    return None if shared == len(longer) else RowDifference(longer[shared][0], "", None, None)


def _is_same(was: float | None, now: float | None) -> bool:
    if was is None or now is None:
        return was is now
    return was == now or (math.isnan(was) and math.isnan(now))


def _rows(path: Path) -> list[_Row]:
    """Return the rows of a metric log that are whole, as step and numbers."""
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        try:
            row = json.loads(line)
            step = int(row.pop("step"))
        except (ValueError, KeyError, TypeError, AttributeError):
            continue  # a line cut short when the run was killed
        numbers = {name: v for name, v in row.items() if not name.startswith(_VOLATILE)}
        if numbers.keys() - {"epoch"}:
            rows.append((step, numbers))
    return rows


def _figures(run: Path, stop: int | None) -> dict[tuple[str, int, str], float]:
    path = run / "results.json"
    if not path.is_file():
        return {}
    figures = {}
    try:
        evaluations = json.loads(path.read_text(encoding="utf-8"))["evaluations"]
    except (ValueError, KeyError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    for one in evaluations:
        if stop is not None and one["step"] > stop:
            continue
        reranked = "+".join(one.get("postprocessing", ()))
        for metric, value in one["metrics"].items():
            name = f"{metric} after {reranked}" if reranked else metric
            figures[one["dataset"], int(one["step"]), name] = float(value)
    return figures


def _compare_weights(was: Path, now: Path, notes: list[str]) -> WeightsComparison | None:
    if not was.is_file() or not now.is_file():
        which = "the run" if not was.is_file() else "the repetition"
        notes.append(f"{which} has no weights, so they are not compared")
        return None
    if _step_of(was) != _step_of(now):
        notes.append(
            f"the weights are not compared: those of the run are of step {_step_of(was)}, those of "
            f"the repetition of step {_step_of(now)}"
        )
        return None
    left, right = hash_of_tensors(was), hash_of_tensors(now)
    largest, tensor = (None, "") if left == right else _largest_difference(was, now)
    return WeightsComparison(left, right, largest, tensor)


def hash_of_tensors(path: Path) -> str:
    """Return the SHA-256 of the tensors in a weights file; its description does not count.

    Args:
        path: A ``.safetensors`` file.
    """
    digest = hashlib.sha256()
    with safe_open(path, framework="pt") as file:
        for name in sorted(file.keys()):
            tensor: torch.Tensor = file.get_tensor(name)
            digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
            digest.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _largest_difference(was: Path, now: Path) -> tuple[float | None, str]:
    largest, where = 0.0, ""
    with safe_open(was, framework="pt") as left, safe_open(now, framework="pt") as right:
        if sorted(left.keys()) != sorted(right.keys()):
            return None, ""
        for name in sorted(left.keys()):
            a, b = left.get_tensor(name), right.get_tensor(name)
            if a.shape != b.shape:
                return None, ""
            far = (a.double() - b.double()).abs().max().item() if a.numel() else 0.0
            if not where or far > largest:
                largest, where = far, name
    return largest, where


def _last_weights(run: Path) -> Path:
    return run / "weights" / "last.safetensors"


def _step_of(weights: Path) -> int:
    info: Mapping[str, object] | None = read_info(weights) if weights.is_file() else None
    step = None if info is None else info.get("step")
    return step if isinstance(step, int) else 0


def _status(run: Path) -> str:
    try:
        return str(json.loads((run / "status.json").read_text(encoding="utf-8"))["state"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
