"""Why a name cannot be used, in words: what was found, and what to type instead."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reid_core.errors import nearest
from reid_core.plugins.component_ref import KINDS, ComponentRef, singular
from reid_core.plugins.editable import forgotten_install, install_again, source_folder
from reid_core.plugins.known import KNOWN, provider_of
from reid_core.plugins.metadata import (
    CORE,
    GROUP_PREFIX,
    PLUGIN_API,
    BrokenDist,
    installed_version,
)
from reid_core.plugins.not_offered import NOT_OFFERED
from reid_core.plugins.switches import Switch

#: The distribution name of components registered in this process.
LOCAL = "local"

# More names than this are no help in a message.
_MAX_NAMES = 40


def ambiguous(name: str, found: Sequence[ComponentRef]) -> str:
    """Name the providers of a name that several declare, and how to choose."""
    what = f"{singular(found[0].kind)} {name!r}"
    providers = ", ".join(ref.origin() for ref in found)
    dists = {ref.dist for ref in found}
    if len(dists) == 1:
        return (
            f"{what} is declared {len(found)} times by one distribution: {providers}; "
            f"{_mend(found[0])}"
        )
    spellings = " or ".join(dict.fromkeys(ref.qualified for ref in found))
    return (
        f"{what} is provided by {len(dists)} distributions: {providers}; "
        f"say which one: {spellings}, or uninstall the other"
    )


def incompatible(ref: ComponentRef) -> str:
    """Say which core a component needs, and how to get to one that fits."""
    what = f"{singular(ref.kind)} {ref.name!r} of {ref.origin()}"
    release = f"a release of {ref.dist} for this core: pip install --upgrade {ref.dist}"
    if ref.needs.startswith(CORE):
        return (
            f"{what} needs {ref.needs}, and another version of {CORE} is installed; "
            f"pip install '{ref.needs}', or {release}"
        )
    return (
        f"{what} was made for {ref.needs}, and this core has plugin API {PLUGIN_API}; "
        f"pip install --upgrade {CORE}, or {release}"
    )


def unusable(matches: Sequence[ComponentRef], switches: Sequence[Switch]) -> str:
    """Say why nothing that is declared under a name can be used."""
    order = ("disabled", "bad-metadata", "shadowed")
    ref = min(matches, key=lambda match: order.index(match.status))
    what = f"{singular(ref.kind)} {ref.name!r} of {ref.dist} {ref.version}"
    if ref.status == "disabled":
        switch = next(one for one in switches if one.covers(ref.dist))
        return f"{what} is disabled by {switch.source}; {switch.undo(ref.dist)}"
    if ref.status == "shadowed":
        return (
            f"{what} belongs to a second installed copy of {ref.dist}, which Python does not "
            f"import ({ref.detail}); keep one: pip uninstall {ref.dist} as often as it finds one, "
            "then install it"
        )
    return f"{what} cannot be used: {joined(ref.detail, _mend(ref))}"


def unknown(
    kind: str,
    name: str,
    refs: Sequence[ComponentRef],
    broken: Sequence[BrokenDist],
    also: Iterable[str],
) -> str:
    """Say what a name may have meant, what there is, and what to install.

    Args:
        kind: Component kind.
        name: As it was written.
        refs: Every component.
        broken: Metadata that could not be read, in which it may be.
        also: Names that were registered in this process.
    """
    what = f"unknown {singular(kind)} {name!r}"
    if reason := NOT_OFFERED.get((kind, name.lower())):
        return f"{what}; {reason}"
    if forgotten := forgotten_install(kind, name):
        return f"{what}; {forgotten}"
    provider = provider_of(kind, name)
    if provider is not None:
        return f"{what}; {how_to_get(provider)}{_unread(broken)}"
    usable = [ref for ref in refs if ref.kind == kind and ref.claims_name]
    names = sorted({*also, *(ref.name for ref in usable)})
    spellings = [*names, *(ref.qualified for ref in usable)] if "/" in name else names
    told = f"{what}{_near(kind, name, spellings)} ({_known(usable, also)})"
    for line in dict.fromkeys(_misplaced(ref) for ref in refs if name in (ref.name, ref.qualified)):
        told = joined(told, line)
    told = f"{told}{_unread(broken)}"
    return joined(told, "'reid-plugins list' shows what each distribution provides")


def how_to_get(provider: str) -> str:
    """Say how to get what a distribution of this project is known to provide."""
    found = installed_version(provider)
    if found is None:
        return f"it is known to be provided by {provider}: pip install {provider}"
    return (
        f"it is known to be provided by {provider}, and version {found}, which is installed, does "
        f"not have it: pip install --upgrade {provider}"
    )


def joined(first: str, second: str) -> str:
    """Put two parts of a message together; a question ends with its own mark."""
    return f"{first} {second}" if first.endswith("?") else f"{first}; {second}"


def _mend(ref: ComponentRef) -> str:
    """Say who mends the metadata of a distribution, and how."""
    if ref.editable:
        again = install_again(source_folder(ref.dist))
        return f"mend its pyproject.toml and install it again: {again}"
    return f"report it to its author, or uninstall it: pip uninstall {ref.dist}"


def _misplaced(ref: ComponentRef) -> str:
    """Say as what else a name is declared."""
    if ref.kind in KINDS:
        word = singular(ref.kind)
        return f"{ref.dist} has {'an' if word[0] in 'aeiou' else 'a'} {word} of that name"
    if ref.alias_of:
        return joined(f"{ref.dist} declares it as an alias, but {ref.detail}", _mend(ref))
    near = nearest(ref.kind, KINDS)
    hint = f"; did you mean {GROUP_PREFIX}{near}?" if near else ", which is that of no kind"
    group = f"{ref.dist} declares it in the group {GROUP_PREFIX}{ref.kind}{hint}"
    return joined(group, _mend(ref))


def _near(kind: str, name: str, spellings: Sequence[str]) -> str:
    near = nearest(name, spellings)
    if near and near.casefold() == name.casefold():
        return f"; did you mean {near}? upper and lower case differ"
    if near:
        return f"; did you mean {near}?"
    known = [one for names in KNOWN.get(kind, {}).values() for one in names]
    near = nearest(name, known)
    provider = provider_of(kind, near) if near else None
    if provider is None or installed_version(provider) is not None:
        return ""
    return f"; did you mean {near}? it comes with {provider}: pip install {provider}"


def _known(usable: Sequence[ComponentRef], also: Iterable[str]) -> str:
    """List the names by distribution, while they are few."""
    by_dist: dict[str, list[str]] = {}
    for ref in sorted(usable, key=lambda ref: (ref.dist, ref.name)):
        if not ref.deprecated:
            by_dist.setdefault(ref.dist, []).append(ref.name)
    if local := sorted(also):
        by_dist["this process"] = local
    count = sum(map(len, by_dist.values()))
    if not count:
        return "none is installed"
    if count > _MAX_NAMES:
        return f"{count} are installed, by {', '.join(by_dist)}"
    return "; ".join(f"{dist}: {', '.join(names)}" for dist, names in by_dist.items())


def _unread(broken: Sequence[BrokenDist]) -> str:
    if not broken:
        return ""
    return f"; it may be in one that cannot be read: {' and '.join(map(str, broken))}"
