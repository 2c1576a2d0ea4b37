"""Random parts of small benchmarks: drawn with a seed, so that a number names one of them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from reid_plugin_datasets.parameters import require_between

#: Published figures of the small benchmarks are means over ten random splits.
NUM_SPLITS = 10


def require_split(split: int, *, dataset: str, number: int = NUM_SPLITS) -> None:
    """Check the number of a split.

    Args:
        split: What the config says.
        number: How many splits there are.
        dataset: The component's name, for messages.

    Raises:
        ConfigError: There is no such split.
    """
    require_between(split, 0, number - 1, name="split", dataset=dataset)


def draw(identities: Iterable[int], count: int, *, split: int) -> frozenset[int]:
    """Draw identities to train on.

    Args:
        identities: All identities, each once, in any order.
        count: How many to draw.
        split: Number of the split; the same number draws the same identities everywhere.

    Returns:
        The identities drawn.
    """
    order = np.random.default_rng(np.random.SeedSequence(split)).permutation(sorted(identities))
    return frozenset(order[:count].tolist())


def split_note(split: int, rule: str, *, number: int = NUM_SPLITS) -> str:
    """Say which split was made and how.

    Args:
        split: Its number.
        rule: How it was made.
        number: How many splits there are.
    """
    return (
        f"split {split} of 0 to {number - 1}: {rule}; published figures are means over {number} "
        "such splits"
    )
