"""Names that are taken already."""

from __future__ import annotations

from collections.abc import Iterator

from reid_core.errors import UsageError
from reid_core.plugins.index import PluginIndex, singular
from reid_core.plugins.known import KNOWN, provider_of
from reid_core.plugins.metadata import CORE, installed_version
from reid_core.templates.kinds import TemplateKind
from reid_core.templates.names import PluginNames


def require_free(names: PluginNames, template: TemplateKind, index: PluginIndex) -> None:
    """Refuse names that something else has.

    Args:
        names: The names of a new plugin.
        template: What it is to be.
        index: What is installed, nothing of it left out by a switch.

    Raises:
        UsageError: The distribution, the component or the recipes have a name that is taken.
    """
    reasons = [*_dist_reasons(names), *_name_reasons(names, template, index)]
    if reasons:
        raise UsageError(f"{'; '.join(reasons)}; choose another NAME")


def _dist_reasons(names: PluginNames) -> Iterator[str]:
    version = installed_version(names.dist)
    if version is not None:
        yield f"{names.dist} {version} is installed already"
    elif any(names.dist in dists for dists in KNOWN.values()):
        yield f"{names.dist} is a plugin of this project, though not installed here"


def _name_reasons(names: PluginNames, template: TemplateKind, index: PluginIndex) -> Iterator[str]:
    name = names.component
    subjects = {
        template.kind: f"{singular(template.kind)} {name!r} is",
        "recipes": f"the recipes {name!r} are",
    }
    for kind, subject in subjects.items():
        owners = {
            ref.dist: ref for ref in index.by_kind(kind) if ref.name == name and ref.claims_name
        }
        owners.pop(names.dist, None)
        known = provider_of(kind, name)
        if CORE in owners:
            yield f"{subject} the core's own, which always has that name"
        elif owners:
            providers = " and ".join(f"{ref.dist} {ref.version}" for ref in owners.values())
            yield f"{subject} provided by {providers}"
        elif known not in (None, names.dist):
            yield f"{subject} known to be provided by {known}"
