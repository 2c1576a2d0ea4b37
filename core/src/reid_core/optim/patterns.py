"""Names of parameters by pattern."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from fnmatch import fnmatchcase

from torch import nn

from reid_core.errors import ConfigError

#: More near names than this are no help in a message.
_MAX_NEAR = 3


def matching_names(model: nn.Module, patterns: Sequence[str], *, setting: str) -> frozenset[str]:
    """Return the names of the parameters that a pattern matches.

    A pattern is compared with the whole name: ``backbone.*`` is everything of the backbone, and
    ``backbone`` alone is nothing, since no parameter is called that. ``*`` stands for any text,
    dots included, ``?`` for one letter, ``[ab]`` for one of those.

    Args:
        model: Whose parameters are meant.
        patterns: The patterns; upper and lower case differ.
        setting: Where they were written, for the message.

    Raises:
        ConfigError: A pattern matches no parameter.
    """
    names = [name for name, _ in model.named_parameters()]
    matched: set[str] = set()
    for pattern in patterns:
        found = {name for name in names if fnmatchcase(name, pattern)}
        if not found:
            raise ConfigError(
                f"{setting}: {pattern!r} matches none of the {len(names)} parameters of the model"
                f"{_near(pattern, names)}"
            )
        matched |= found
    return frozenset(matched)


def _near(pattern: str, names: Sequence[str]) -> str:
    parents = {name[:end] for name in names for end in range(len(name)) if name[end] == "."}
    candidates = [*names, *sorted(f"{parent}.*" for parent in parents)]
    near = difflib.get_close_matches(pattern, candidates, n=_MAX_NEAR, cutoff=0.5)
    if not near:
        parts = dict.fromkeys(f"{name.partition('.')[0]}.*" for name in names if "." in name)
        near = list(parts)[:_MAX_NEAR]
    return f"; near it: {', '.join(near)}" if near else ""
