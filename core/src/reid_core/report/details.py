"""Read ``details.json``: all that is known of the last evaluations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from pydantic import TypeAdapter

if TYPE_CHECKING:
    from reid_core.evaluation.detail import Detail

#: Keys under which a null stands for a number that is not defined. Elsewhere the record itself
#: says what a null means.
_NUMBERS = frozenset(
    {"metrics", "intervals", "cmc", "verification", "open_set", "histogram", "threshold_rates"}
)


@dataclass(frozen=True)
class DetailsFile:
    """``details.json``, its entries not yet checked."""

    schema: Literal[1]
    details: tuple[object, ...] = ()


def details_adapter() -> TypeAdapter[tuple[Detail, ...]]:
    """Return what checks the entries of ``details.json``."""
    # Imported here: its package needs torch, which takes seconds, and a report without details
    # does not need it.
    from reid_core.evaluation.detail import Detail

    return TypeAdapter(tuple[Detail, ...])


def shape_problem(details: Iterable[Detail]) -> str:
    """Return what does not fit together in the entries, or nothing.

    Each number may be right by itself, and a list still be shorter than the one beside it.
    """
    for place, one in enumerate(details):
        for name, fits in (
            ("verification", _fits_curve(one)),
            ("histogram", _fits_histogram(one)),
            ("camera_pairs", _fits_cameras(one)),
            ("map", _fits_map(one)),
        ):
            if not fits:
                return (
                    f"at {place}.{name}: lists differ in length, or edges are no numbers in order"
                )
    return ""


def _fits_curve(one: Detail) -> bool:
    found = one.verification
    return found is None or len(found.fpr) == len(found.tpr) == len(found.thresholds)


def _fits_histogram(one: Detail) -> bool:
    found = one.histogram
    if found is None or not (found.edges or found.same or found.different):
        return True
    is_long_enough = len(found.same) == len(found.different) == len(found.edges) - 1 > 0
    ends = (-math.inf, *found.edges, math.inf)
    return is_long_enough and all(low < high for low, high in pairwise(ends))


def _fits_cameras(one: Detail) -> bool:
    found = one.camera_pairs
    if found is None:
        return True
    width = len(found.gallery_cameras)
    tables = (found.ap, found.num_queries)
    return all(
        len(table) == len(found.query_cameras) and all(len(row) == width for row in table)
        for table in tables
    )


def _fits_map(one: Detail) -> bool:
    found = one.map
    return found is None or len(found.x) == len(found.y) == len(found.pids) == len(found.sides)


def with_nan(entries: Iterable[object]) -> list[object]:
    """Put NaN where strict JSON has null for a number that is not defined."""
    return [_entry_with_nan(one) if isinstance(one, dict) else one for one in entries]


def _entry_with_nan(entry: Mapping[str, object]) -> dict[str, object]:
    return {
        key: _all_numbers(one) if key in _NUMBERS and one is not None else one
        for key, one in entry.items()
    }


def _all_numbers(value: object) -> object:
    if isinstance(value, dict):
        return {key: _all_numbers(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_all_numbers(one) for one in value]
    return math.nan if value is None else value
