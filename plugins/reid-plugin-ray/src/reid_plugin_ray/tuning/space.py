"""The space of a sweep: which settings are tried, and how each is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from reid_core.config.nodes import Node, Origin
from reid_core.config.overrides import node_of
from reid_core.config.shape import with_section
from reid_core.config.yaml_reader import read_yaml
from reid_core.errors import ConfigError, did_you_mean

Kind: TypeAlias = Literal["choice", "grid", "uniform", "loguniform", "randint"]
_LISTS = ("choice", "grid")
#: Where between the ends a number is tried beforehand; it is whole for no ends that are.
_INSIDE = 0.381966


@dataclass(frozen=True)
class Distribution:
    """How one setting is drawn.

    Args:
        path: Dotted path of the setting.
        kind: ``choice`` draws one of the values and ``grid`` tries all; ``uniform``, ``loguniform``
            and ``randint`` draw a number from ``low`` to ``high``, which ``randint`` leaves out.
        values: The values, or low and high.
        origin: Where it was written.
    """

    path: str
    kind: Kind
    values: tuple[object, ...]
    origin: Origin

    @property
    def probes(self) -> tuple[object, ...]:
        """Values that a configuration has to accept: all of a list, some of a range."""
        if self.kind in _LISTS:
            return self.values
        low, high = (float(str(value)) for value in self.values)
        if self.kind == "randint":
            return int(low), int(high) - 1
        return low, low + _INSIDE * (high - low), high

    @property
    def plain(self) -> dict[str, list[object]]:
        """The same as plain types, as a file says it."""
        return {self.kind: list(self.values)}


@dataclass(frozen=True)
class Space:
    """All settings of a sweep.

    Args:
        distributions: One a setting, in the order of the file.
    """

    distributions: tuple[Distribution, ...]

    @property
    def grid_size(self) -> int:
        """Number of combinations of all grids; each is tried once a sample."""
        size = 1
        for one in self.distributions:
            size *= len(one.values) if one.kind == "grid" else 1
        return size

    @property
    def plain(self) -> dict[str, dict[str, list[object]]]:
        """The same as plain types, as a file says it."""
        return {one.path: one.plain for one in self.distributions}


def read_space(path: Path) -> Space:
    """Read a space from a YAML file.

    Args:
        path: A mapping from the dotted path of a setting to a distribution, such as
            ``train.optimizer.lr: {loguniform: [1e-5, 1e-2]}``.

    Raises:
        ConfigError: It cannot be read, or a distribution is wrong; each is told with its place.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--space {path} cannot be read: {error}") from error
    return _space_of(read_yaml(text, str(path)))


def space_from_plain(plain: Mapping[str, object], *, source: str) -> Space:
    """Read a space back that was stored as plain types.

    Args:
        plain: What :attr:`Space.plain` gave.
        source: Where it was stored, for messages.
    """
    return _space_of(node_of(plain, Origin(source)))


def _space_of(root: Node) -> Space:
    if not isinstance(root.value, dict) or not root.value:
        raise ConfigError(
            f"{root.origin}  a space is a mapping from settings to distributions, for example "
            "train.optimizer.lr: {loguniform: [1e-5, 1e-2]}"
        )
    problems: list[str] = []
    found: list[Distribution] = []
    for key, node in root.value.items():
        try:
            found.append(_distribution(key, node))
        except ConfigError as error:
            problems.append(str(error))
    problems += _repeated(found)
    if problems:
        raise ConfigError("\n".join(problems))
    return Space(tuple(found))


def _distribution(key: str, node: Node) -> Distribution:
    place = f"{node.origin}  {key}"
    entries = node.value
    if not isinstance(entries, dict) or len(entries) != 1:
        raise ConfigError(
            f"{place}: expected one distribution, such as {{loguniform: [1e-5, 1e-2]}} or "
            "{choice: [adam, sgd]}"
        )
    ((kind, values),) = entries.items()
    known = get_args(Kind)
    if kind not in known:
        raise ConfigError(
            f"{place}: unknown distribution {kind!r}{did_you_mean(kind, known)}; expected one of "
            f"{', '.join(known)}"
        )
    plain = values.plain()
    if not isinstance(plain, list):
        raise ConfigError(f"{place}: {kind} takes a list, got {plain!r}")
    path = ".".join(map(str, with_section(tuple(key.split(".")))))
    if kind in _LISTS:
        _check_list(kind, plain, place)
    else:
        plain = _range(kind, plain, place)
    return Distribution(path, kind, tuple(plain), node.origin)  # type: ignore[arg-type]


def _check_list(kind: str, values: list[object], place: str) -> None:
    if not values:
        raise ConfigError(f"{place}: {kind} is empty; expected at least one value")
    repeated = [value for i, value in enumerate(values) if value in values[:i]]
    if repeated:
        raise ConfigError(f"{place}: {kind} has {repeated[0]!r} twice; remove one")


def _range(kind: str, values: list[object], place: str) -> list[object]:
    is_number = [isinstance(v, int | float) and not isinstance(v, bool) for v in values]
    if len(values) != 2 or not all(is_number):
        raise ConfigError(f"{place}: {kind} takes two numbers, [low, high], got {values!r}")
    low, high = (float(str(value)) for value in values)
    if not low < high < float("inf"):
        raise ConfigError(f"{place}: {kind} goes from {values[0]!r} to {values[1]!r}; low < high")
    if kind == "loguniform" and low <= 0:
        raise ConfigError(f"{place}: loguniform begins at {values[0]!r}; expected above 0")
    if kind != "randint":
        return [low, high]
    if low != int(low) or high != int(high):
        raise ConfigError(f"{place}: randint takes whole numbers, got {values!r}")
    return [int(low), int(high)]


def _repeated(found: list[Distribution]) -> list[str]:
    problems = []
    for i, one in enumerate(found):
        for other in found[:i]:
            shorter, longer = sorted((one.path, other.path), key=len)
            if longer == shorter or longer.startswith(f"{shorter}."):
                problems.append(
                    f"{one.origin}  {one.path}: it is set by {other.path} ({other.origin}) too; "
                    "draw whole components by choice, or their parameters, not both"
                )
    return problems
