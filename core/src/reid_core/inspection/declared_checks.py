"""What can be wrong with a declaration: groups, names, requirements, plugin API."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from reid_core.errors import nearest
from reid_core.inspection.finding import Finding
from reid_core.plugins.component_ref import KINDS, NAME_RULE
from reid_core.plugins.declaration import GROUPS, Declaration, DeclaredEntry
from reid_core.plugins.metadata import API_GROUP, CORE, GROUP_PREFIX, PLUGIN_API

_FLOORS = (">=", ">", "==", "~=", "===")
_CAPS = ("<", "<=", "==", "~=", "===")


def name_fault(name: str) -> str:
    """Say what is wrong with a component's name; empty when nothing is."""
    if NAME_RULE.fullmatch(name):
        return ""
    mended = re.sub(r"\W+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)).strip("_").lower()
    hint = f", for example {mended}" if NAME_RULE.fullmatch(mended) else ""
    return (
        f"the name {name!r} does not follow [a-z][a-z0-9_]*: lower-case letters, digits and "
        f"underscores, a letter first; rename the entry point{hint}"
    )


def declared_findings(declared: Declaration, core_version: str | None) -> tuple[Finding, ...]:
    """Check a declaration as a whole; single components are checked elsewhere.

    Args:
        declared: What a distribution says of itself.
        core_version: Version of the installed core; None where there is none to compare with.
    """
    if not declared.own_entries and not any(map(_meant_group, declared.entries)):
        return (_no_entry_point(declared),)
    return (
        *_group_findings(declared),
        *_api_findings(declared),
        *(_requirement_findings(declared, core_version) if declared.dist != CORE else ()),
        *_module_notes(declared),
    )


def _no_entry_point(declared: Declaration) -> Finding:
    others = sorted({entry.group for entry in declared.entries})
    has = f" (its groups are {', '.join(others)})" if others else ""
    return Finding(
        "fault",
        "no-entry-point",
        f"no entry point in a group {GROUP_PREFIX}<kind>{has}, so it provides nothing here; add "
        f'[project.entry-points."{GROUP_PREFIX}losses"] or that of another kind '
        f"({', '.join(KINDS)}) to pyproject.toml, and install it again",
    )


def _meant_group(entry: DeclaredEntry) -> str | None:
    """Return the group of ours that a foreign one was probably meant to be."""
    if entry.group.startswith(GROUP_PREFIX):
        return None
    spelled = re.sub(r"[^a-z]+", "_", entry.group.lower())
    # Only what is all but the same: other projects have groups too.
    by_letters = {re.sub(r"[^a-z]+", "_", group): group for group in GROUPS}
    near = difflib.get_close_matches(spelled, list(by_letters), n=1, cutoff=0.8)
    return by_letters[near[0]] if near else None


def _group_findings(declared: Declaration) -> Iterator[Finding]:
    groups = dict.fromkeys(entry.group for entry in declared.own_entries)
    for group in groups:
        if group not in GROUPS:
            names = ", ".join(e.name for e in declared.entries if e.group == group)
            kind = group.removeprefix(GROUP_PREFIX)
            near = nearest(kind, [known.removeprefix(GROUP_PREFIX) for known in GROUPS])
            hint = f"; did you mean {GROUP_PREFIX}{near}?" if near else ""
            yield Finding(
                "fault",
                "unknown-group",
                f"the entry-point group {group} is none of this framework, so {names} cannot be "
                f"found{hint} (the kinds are {', '.join(KINDS)}); mend it in pyproject.toml, and "
                "install it again",
            )
    meant = {entry.group: found for entry in declared.entries if (found := _meant_group(entry))}
    for group, found in meant.items():
        yield Finding(
            "fault",
            "unknown-group",
            f"the entry-point group {group} is none of this framework; did you mean {found}? mend "
            "it in pyproject.toml, and install it again",
        )


def _api_findings(declared: Declaration) -> Iterator[Finding]:
    numbers = list(dict.fromkeys(e.name for e in declared.own_entries if e.group == API_GROUP))
    if len(numbers) > 1:
        yield Finding(
            "fault",
            "plugin-api",
            f"made for several plugin APIs: {', '.join(numbers)}; keep one entry in "
            f"[project.entry-points.{API_GROUP!r}]",
        )
    elif numbers and not (numbers[0].isascii() and numbers[0].isdecimal()):
        yield Finding(
            "fault",
            "plugin-api",
            f"made for plugin API {numbers[0]!r}; expected a whole number, such as {PLUGIN_API}",
        )
    elif numbers and int(numbers[0]) != PLUGIN_API:
        yield Finding(
            "fault",
            "plugin-api",
            f"made for plugin API {numbers[0]}, this core has {PLUGIN_API}; install a release of "
            f"{declared.dist} for this core: pip install --upgrade {declared.dist}",
        )


def _requirement_findings(declared: Declaration, core_version: str | None) -> Iterator[Finding]:
    on_core: list[Requirement] = []
    for text in declared.requires:
        try:
            requirement = Requirement(text)
        except InvalidRequirement as error:
            yield Finding(
                "fault", "requirement", f"{text!r} is no requirement: {str(error).splitlines()[0]}"
            )
            continue
        marker = requirement.marker
        if canonicalize_name(requirement.name) == CORE and (
            marker is None or marker.evaluate({"extra": ""})
        ):
            on_core.append(requirement)
    yield from _bound_findings(on_core, core_version)
    for requirement in on_core:
        if core_version and not requirement.specifier.contains(core_version, prereleases=True):
            needed = f"{CORE}{requirement.specifier}"
            yield Finding(
                "fault",
                "requirement",
                f"needs {needed}, found {CORE} {core_version}; pip install '{needed}', or a "
                f"release of {declared.dist} for this core: pip install --upgrade {declared.dist}",
            )


def _bound_findings(on_core: list[Requirement], core_version: str | None) -> Iterator[Finding]:
    operators = {specifier.operator for r in on_core for specifier in r.specifier}
    release = ".".join((core_version or "0.1").split(".")[:2])
    if not operators.intersection(_FLOORS):
        what = "has no floor" if on_core else "is missing"
        yield Finding(
            "warning",
            "requirement",
            f"the requirement on {CORE} {what}, so it is installed beside cores that it was never "
            f'tried with; write "{CORE}>={release}" in [project] dependencies',
        )
    if operators.intersection(_CAPS):
        written = " and ".join(f"{CORE}{r.specifier}" for r in on_core)
        yield Finding(
            "warning",
            "requirement",
            f"{written} has an upper limit, so every release of the core is a conflict until "
            f'there is a new one of this; keep the floor only: "{CORE}>={release}"',
        )


def _module_notes(declared: Declaration) -> Iterator[Finding]:
    tops = {entry.value.partition(":")[0].partition(".")[0] for entry in declared.own_entries}
    expected = declared.dist.replace("-", "_")
    if tops and expected not in tops:
        yield Finding(
            "note",
            "module-name",
            f"its package is called {' and '.join(sorted(tops))}, not {expected} as the "
            "distribution; that works, and makes it harder to find",
        )


def alias_fault(detail: str) -> Finding:
    """Make the finding of an alias whose kind does not exist, which no component shows.

    Args:
        detail: What the index says of it.
    """
    return Finding("fault", "alias", f"an alias cannot be used: {detail}")
