"""The record of one component: its name, and the distribution that provides it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from reid_core.errors import did_you_mean
from reid_core.plugins.metadata import GROUP_PREFIX, PLUGIN_API, Entry

#: Component kinds; the entry-point group of a kind is ``reid_core.<kind>``.
KINDS = (
    "backbones",
    "heads",
    "losses",
    "hooks",
    "models",
    "datasets",
    "samplers",
    "transforms",
    "optimizers",
    "schedules",
    "protocols",
    "rerankers",
    "recipes",
)

Status = Literal["ok", "conflict", "shadowed", "incompatible", "bad-metadata", "disabled"]

#: What a component may be called, as a whole.
NAME_RULE = re.compile(r"[a-z][a-z0-9_]*")

# Extras behind the attribute are allowed by the specification and mean nothing to an import.
_DOTTED = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_VALUE = re.compile(rf"({_DOTTED})\s*(?::\s*({_DOTTED})\s*)?(?:\[.*\]\s*)?\Z")


@dataclass(frozen=True)
class ComponentRef:
    """Where a component comes from; nothing is imported to know it.

    Args:
        kind: One of :data:`KINDS`.
        name: The name a config uses.
        value: ``module:attribute`` that the name stands for.
        dist: The distribution that provides it; ``local`` for one registered in this process.
        version: That distribution's version.
        status: ``ok``; ``conflict`` when another distribution has a claim on the name too;
            ``shadowed`` for a second installed copy; ``incompatible`` when the distribution needs
            another version of this core; ``bad-metadata`` when the metadata cannot be meant as it
            is; ``disabled`` when a switch leaves the distribution out.
        editable: Whether the distribution is installed in editable mode.
        needs: What the distribution needs and does not find: a requirement on ``reid-core``, or
            ``plugin API 2``; empty otherwise.
        detail: Why the status is not ``ok``, in one line for people; empty when it is.
        alias_of: The name of the component that this name stands for; empty for a component
            itself.
        deprecated: Whether the name is an old one that will go.
    """

    kind: str
    name: str
    value: str
    dist: str
    version: str
    status: Status
    editable: bool = False
    needs: str = ""
    detail: str = ""
    alias_of: str = ""
    deprecated: bool = False

    @classmethod
    def of_entry(cls, entry: Entry) -> ComponentRef:
        """Make the record of one entry point; conflicts with others are not known here."""
        kind = entry.group.removeprefix(GROUP_PREFIX)
        parts = _VALUE.match(entry.value)
        module, attribute = parts.groups() if parts else (None, None)
        # Recipes are a package; everything else is something in a module.
        is_usable = module is not None and (attribute is not None or kind == "recipes")
        needs, unmet = _unmet(entry)
        status: Status = "ok"
        detail = ""
        if entry.shadowed:
            status, detail = "shadowed", f"{entry.dist} {entry.used_copy} is used"
        elif fault := _fault(kind, entry, is_usable):
            status, detail = "bad-metadata", fault
        elif needs:
            status, detail = "incompatible", unmet
        return cls(
            kind=kind,
            name=entry.name,
            value=f"{module}:{attribute}" if module and attribute else module or entry.value,
            dist=entry.dist,
            version=entry.version,
            status=status,
            editable=entry.editable,
            needs=needs,
            detail=detail,
        )

    @property
    def qualified(self) -> str:
        """The spelling that names the distribution too: ``reid-plugin-x/name``."""
        return f"{self.dist}/{self.name}"

    @property
    def claims_name(self) -> bool:
        """Whether it lays claim to its name; a second copy, say, or a broken value does not."""
        return self.status not in ("shadowed", "bad-metadata", "disabled")

    def origin(self) -> str:
        """Name distribution, version and entry point, for messages."""
        return f"{self.dist} {self.version} ({self.value})"


def singular(kind: str) -> str:
    """Return the word for one component of a kind, for messages: ``loss`` of ``losses``."""
    return "loss" if kind == "losses" else kind.removesuffix("s")


def _fault(kind: str, entry: Entry, is_usable: bool) -> str:
    """Say what is wrong with the metadata; empty when nothing is."""
    if kind not in KINDS:
        return f"there is no kind {kind!r}{did_you_mean(kind, KINDS)}"
    if not is_usable:
        expected = "package of recipes" if kind == "recipes" else "'module:attribute'"
        return f"{entry.value!r} is no {expected}{_with_colon(kind, entry.value)}"
    if len(entry.api) > 1:
        return f"made for several plugin APIs: {', '.join(entry.api)}; expected one"
    if entry.api and not (entry.api[0].isascii() and entry.api[0].isdecimal()):
        return f"made for plugin API {entry.api[0]!r}; expected a whole number"
    return ""


def _with_colon(kind: str, value: str) -> str:
    """Propose the value that has a colon where a dot was written, if that is likely meant."""
    parts = _VALUE.match(value)
    if kind == "recipes" or parts is None or parts[2]:
        return ""
    module, _, attribute = parts[1].rpartition(".")
    # Of two parts the second may be a module, unless it is spelled as a class.
    is_likely = "." in module or (module and attribute[0].isupper())
    return f"; did you mean '{module}:{attribute}'?" if is_likely else ""


def _unmet(entry: Entry) -> tuple[str, str]:
    """Return what the distribution needs and does not find, and a line that says so."""
    if entry.needs:
        return entry.needs, f"needs {entry.needs}, found {entry.core}"
    if len(entry.api) == 1 and entry.api[0].isdecimal() and int(entry.api[0]) != PLUGIN_API:
        api = int(entry.api[0])
        return f"plugin API {api}", f"made for plugin API {api}, this core has {PLUGIN_API}"
    return "", ""
