"""What ``reid-train`` can do instead of training: one thing at a time."""

from __future__ import annotations

from collections.abc import Mapping

from reid_core.errors import UsageError


def require_one_mode(modes: Mapping[str, bool], *, beside_training: Mapping[str, bool]) -> None:
    """Refuse options that each do something else than train, or that need the training.

    Args:
        modes: Whether each option is given, by its name.
        beside_training: The same of options that watch a training.

    Raises:
        UsageError: More than one mode is, or one with an option that watches a training.
    """
    given = [name for name, is_given in modes.items() if is_given]
    if len(given) > 1:
        raise UsageError(
            f"{' and '.join(given)} are given; each of them is done instead of training, so name "
            "one of them a command"
        )
    watching = [name for name, is_given in beside_training.items() if is_given]
    if given and watching:
        raise UsageError(
            f"{watching[0]} watches a training, and {given[0]} does not train; leave one of them "
            "out"
        )
