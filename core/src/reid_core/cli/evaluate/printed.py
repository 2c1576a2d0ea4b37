"""What ``reid-eval`` prints: lines for people, or one JSON document."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from reid_core.cli.evaluate.gate import Verdict
    from reid_core.cli.evaluate.measure import Measured


def text_lines(
    done: Measured, verdicts: Sequence[Verdict], written: Sequence[Path]
) -> Iterator[str]:
    """Yield the lines of an evaluation.

    Args:
        done: The evaluation.
        verdicts: What was held to a minimum.
        written: Files that were written.
    """
    from reid_core.engine.evaluation.lines import lines_of

    for evaluation, result in done.sets.with_results():
        yield from lines_of(evaluation, result, done.detail_of(evaluation))
    for applied in done.thresholds:
        yield applied.line()
    for verdict in verdicts:
        if verdict.is_met:
            yield f"ok      {verdict.line()}"
    for path in written:
        yield f"wrote   {path}"


def json_text(done: Measured, verdicts: Sequence[Verdict], written: Sequence[Path]) -> str:
    """Return the JSON document; figures that are not defined are null.

    Args:
        done: The evaluation.
        verdicts: What was held to a minimum.
        written: Files that were written.
    """
    plain = {
        "schema": 1,
        "weights": done.source,
        "evaluations": [asdict(evaluation) for evaluation in done.sets.evaluations],
        "details": [asdict(detail) for detail in done.details.values()],
        "threshold": None if done.threshold is None else asdict(done.threshold),
        "threshold_rates": [
            {"dataset": one.dataset, **one.rates.plain()} for one in done.thresholds
        ],
        "minimums": [verdict.plain() for verdict in verdicts],
        "written": [str(path) for path in written],
    }
    return json.dumps(without_nan(plain), indent=2, ensure_ascii=False, allow_nan=False)


def without_nan(value: object) -> object:
    """Return plain types with null for numbers that JSON does not have.

    Args:
        value: Plain types.
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: without_nan(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(one) for one in value]
    return value
