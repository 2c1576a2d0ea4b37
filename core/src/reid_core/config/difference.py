"""What differs between two configurations, or between two runs and what they were made of.

Nothing is imported that a run needs: the files of a run folder are read as they are.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from reid_core.config.load import load_config
from reid_core.errors import UsageError

#: What no two runs have in common, or what says nothing about their numbers.
_OWN_TO_A_RUN = frozenset({"output", "env.command", "env.host", "git.root"})

#: Facts on the repositories of distributions in editable mode.
_PLUGIN_GIT = "plugin_git."


@dataclass(frozen=True)
class Difference:
    """One fact that differs.

    Args:
        path: Its dotted path.
        a: Its value in the first; None where it has none.
        b: Its value in the second.
    """

    path: str
    a: object
    b: object


@dataclass(frozen=True)
class Side:
    """One of the two things that are compared.

    Args:
        name: What it was called on the command line.
        is_run: Whether it is a run folder, and no recipe.
        sections: Facts by dotted path, by the file they come from.
    """

    name: str
    is_run: bool
    sections: Mapping[str, Mapping[str, object]] = field(repr=False)

    @classmethod
    def read(cls, name: str) -> Side:
        """Read a run folder, a YAML file, or a recipe.

        Args:
            name: The path of a run folder or file, or the name of a recipe.

        Raises:
            UsageError: A folder holds no run, or a file in it is damaged.
            ConfigError: There is no such recipe, or it is wrong.
            PluginError: The recipe is shipped by more than one package, or by a broken one.
        """
        folder = Path(name).expanduser()
        if not folder.is_dir():
            return cls(name, False, {"config.yaml": dict(_leaves(load_config(name).plain()))})
        if not (folder / "config.yaml").is_file():
            raise UsageError(
                f"{name} is a folder without config.yaml; expected a run folder, a YAML file, or "
                "the name of a recipe ('reid-config list' shows them)"
            )
        return cls(name, True, dict(_sections_of(folder)))


def compare(a: Side, b: Side) -> tuple[list[Difference], list[str]]:
    """Compare two sides in all that both have.

    Args:
        a: The first.
        b: The second.

    Returns:
        The differences, sorted by path, and what could not be compared, in sentences.
    """
    differences: list[Difference] = []
    for file in [name for name in a.sections if name in b.sections]:
        left, right = a.sections[file], b.sections[file]
        for path in {**left, **right}:
            # Two recipes may well mean two folders; a run always has one.
            if (a.is_run or b.is_run) and path in _OWN_TO_A_RUN:
                continue
            if left.get(path) != right.get(path):
                differences.append(Difference(path, left.get(path), right.get(path)))
    differences.sort(key=lambda one: one.path)
    kept, repeated = _once_a_repository(differences, a, b)
    return kept, [*_notes(a, b), *repeated]


def _once_a_repository(
    differences: Sequence[Difference], a: Side, b: Side
) -> tuple[list[Difference], list[str]]:
    """Keep the rows of one distribution of each repository, and name the others in a sentence."""
    left, right = (side.sections.get("env.json", {}) for side in (a, b))
    kept: list[Difference] = []
    told: dict[tuple[object, ...], str] = {}
    others: dict[str, list[str]] = {}
    for one in differences:
        if not one.path.startswith(_PLUGIN_GIT):
            kept.append(one)
            continue
        dist, _, fact = one.path.removeprefix(_PLUGIN_GIT).rpartition(".")
        commit = f"{_PLUGIN_GIT}{dist}.commit"
        # A commit is of one repository only.
        key = (left.get(commit), right.get(commit), fact, one.a, one.b)
        first = told.setdefault(key, dist)
        if first == dist:
            kept.append(one)
        elif dist not in others.setdefault(first, []):
            others[first].append(dist)
    notes = [
        f"{_PLUGIN_GIT}{first} is told for {', '.join(dists)} too: they are of one repository"
        for first, dists in others.items()
    ]
    return kept, notes


def _notes(a: Side, b: Side) -> Iterator[str]:
    if a.is_run != b.is_run:
        recipe = b if a.is_run else a
        yield f"{recipe.name} is no run: settings alone are compared"
        return
    for has, lacks in ((a, b), (b, a)):
        for file in has.sections:
            if file not in lacks.sections:
                yield f"{lacks.name} has no {file}: it is not compared"


def _sections_of(folder: Path) -> Iterator[tuple[str, Mapping[str, object]]]:
    yield "config.yaml", dict(_leaves(load_config(folder / "config.yaml").plain()))
    components = _read_list(folder / "components.json")
    if components is not None:
        yield (
            "components.json",
            {
                f"components.{one['kind']}.{one['name']}": f"{one['dist']} {one['version']}"
                for one in components
            },
        )
    marks = _read_list(folder / "data.json")
    if marks is not None:
        yield (
            "data.json",
            {
                f"data_set.{one['role']}.{one['name']}.{fact}": value
                for one in marks
                for fact, value in one.items()
                if fact not in ("role", "name")
            },
        )
    environment = _read(folder / "env.json")
    if isinstance(environment, dict):
        yield "env.json", dict(_environment(environment, folder))
    packages = folder / "packages.txt"
    if packages.is_file():
        yield "packages.txt", dict(_packages(packages.read_text(encoding="utf-8")))


def _environment(plain: dict[str, object], folder: Path) -> Iterator[tuple[str, object]]:
    for key, value in plain.items():
        if key == "plugin_files" and isinstance(value, list):
            for one in value:
                yield f"env.plugin_files.{Path(str(one['path'])).name}", one["sha256"]
        elif key in ("git", "plugin_git", "numerics"):
            yield from _leaves(value, key, joins_lists=True)
        elif key != "seed":  # a setting, told there
            yield from _leaves(value, f"env.{key}", joins_lists=True)
    diff = folder / "git.diff"
    if diff.is_file():
        yield "git.diff", hashlib.sha256(diff.read_bytes()).hexdigest()


def _packages(text: str) -> Iterator[tuple[str, object]]:
    for line in text.splitlines():
        pinned = line.partition("#")[0].strip()
        dist, _, version = pinned.partition("==")
        yield f"packages.{dist}", version


def _read_list(path: Path) -> list[dict[str, object]] | None:
    content = _read(path)
    if content is None:
        return None
    if not isinstance(content, list) or not all(isinstance(one, dict) for one in content):
        raise UsageError(
            f"{path} holds something else than a list of mappings; expected the file that a run "
            "wrote"
        )
    return content


def _read(path: Path) -> object:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error


def _leaves(
    value: object, path: str = "", *, joins_lists: bool = False
) -> Iterator[tuple[str, object]]:
    """Yield every value that is no mapping and no list, with its dotted path."""
    if isinstance(value, dict) and value:
        for key, child in value.items():
            yield from _leaves(
                child, f"{path}.{key}" if path else str(key), joins_lists=joins_lists
            )
    elif isinstance(value, list) and joins_lists:
        yield path, ", ".join(map(str, value))
    elif isinstance(value, list) and value:
        for position, child in enumerate(value):
            yield from _leaves(child, f"{path}.{position}")
    else:
        yield path, value
