"""Which evaluations belong beside each other: plain figures and those after re-ranking."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reid_core.evaluation.detail import Detail

PLAIN = "plain"

#: What has to be equal for figures to stand beside each other.
Key = tuple[str, int, str, str, str]


@dataclass(frozen=True)
class FigureSet:
    """The figures of one test set under one protocol, distance and way of making embeddings.

    Args:
        name: Name of the test set, with more where that alone is not unique.
        details: Plain ones first; at least one.
    """

    name: str
    details: tuple[Detail, ...]

    @property
    def first(self) -> Detail:
        """The one that tells what all of them have in common."""
        return self.details[0]


def figure_sets(details: Iterable[Detail]) -> tuple[FigureSet, ...]:
    """Put evaluations together that differ in nothing but their post-processing.

    Returns:
        The sets in order of first appearance.
    """
    groups: dict[Key, list[Detail]] = {}
    for one in details:
        key = (one.dataset, one.step, one.protocol, one.distance, one.features)
        groups.setdefault(key, []).append(one)
    keys = list(groups)
    return tuple(
        FigureSet(
            _name(key, keys), tuple(sorted(members, key=lambda one: bool(one.postprocessing)))
        )
        for key, members in groups.items()
    )


def variant_name(detail: Detail) -> str:
    """Return ``plain``, or ``after`` with the post-processing."""
    return f"after {', then '.join(detail.postprocessing)}" if detail.postprocessing else PLAIN


def _name(key: Key, keys: list[Key]) -> str:
    """Return the test set's name, with what tells it from others of that name."""
    same = [other for other in keys if other[0] == key[0]]
    told = [
        text
        for place, text in enumerate(
            (key[0], f"step {key[1]}", key[2], f"{key[3]} distance", key[4] or "plain embeddings")
        )
        if place and len({other[place] for other in same}) > 1
    ]
    return f"{key[0]} ({', '.join(told)})" if told else key[0]
