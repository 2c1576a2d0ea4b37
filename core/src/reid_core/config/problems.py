"""What is wrong with a configuration, all of it at once, with the place of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reid_core.config.nodes import Origin
from reid_core.errors import ConfigError


@dataclass(frozen=True)
class ConfigProblem:
    """One thing that is wrong.

    Args:
        path: Dotted path of the value, such as ``train.optimizer.lr``.
        message: What is wrong and what would be right.
        origin: Where it was written, if that is known.
    """

    path: str
    message: str
    origin: Origin | None = None

    def __str__(self) -> str:
        place = f"{self.origin}  " if self.origin else ""
        return f"{place}{self.path}: {self.message}" if self.path else f"{place}{self.message}"


def raise_problems(problems: Sequence[ConfigProblem]) -> None:
    """Raise one error that lists all problems; return when there are none.

    Raises:
        ConfigError: There is at least one problem.
    """
    if problems:
        # In the order of the file, so that a person can go down it.
        ordered = sorted(problems, key=lambda p: (p.origin is None, _position(p)))
        raise ConfigError("\n".join(str(problem) for problem in ordered))


def _position(problem: ConfigProblem) -> tuple[str, int, int]:
    origin = problem.origin
    if origin is None:
        return (problem.path, 0, 0)
    return (origin.source, origin.line or 0, origin.column or 0)


def dotted(path: Sequence[str | int]) -> str:
    """Spell a path as users type it: ``model.losses.0.margin``."""
    return ".".join(str(part) for part in path)
