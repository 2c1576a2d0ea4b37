"""Which figures of two runs are compared, for the page and for ``reid-eval --compare`` alike."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from reid_core.evaluation.detail import Detail


class PairKey(NamedTuple):
    """What has to be equal in two runs for their figures to be compared.

    Distance, features and the way of re-ranking may differ: such runs are what one compares.

    Args:
        dataset: Name of the test set.
        protocol: Name of the protocol.
        rule: Its rule in one line: one name can stand for several, such as ltcc in its standard and
            changed setting.
        is_reranked: Whether the figures are those after re-ranking.
        number: Number among those of a run that are equal in all else, from 0.
    """

    dataset: str
    protocol: str
    rule: str
    is_reranked: bool
    number: int = 0


def by_pair_key(details: Iterable[Detail]) -> dict[PairKey, Detail]:
    """Return the figures of a run by what they are paired by, in their order.

    Args:
        details: All of the run; none is lost.
    """
    found: dict[PairKey, Detail] = {}
    for one in details:
        key = PairKey(one.dataset, one.protocol, one.protocol_description, bool(one.postprocessing))
        while key in found:
            key = key._replace(number=key.number + 1)
        found[key] = one
    return found
