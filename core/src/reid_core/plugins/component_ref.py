"""The record of one component: its name, and the distribution that provides it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from reid_core.plugins.metadata import GROUP_PREFIX, Entry

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

Status = Literal["ok", "conflict", "shadowed", "incompatible", "bad-metadata"]

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
        status: ``ok``; ``conflict`` when several distributions use the name; ``shadowed`` for a
            second installed copy; ``incompatible`` when the distribution needs another version of
            this core; ``bad-metadata`` when the value cannot be an import path or the group is no
            kind of ours.
        editable: Whether the distribution is installed in editable mode.
        needs: The requirement on ``reid-core`` that is not met; empty otherwise.
    """

    kind: str
    name: str
    value: str
    dist: str
    version: str
    status: Status
    editable: bool = False
    needs: str = ""

    @classmethod
    def of_entry(cls, entry: Entry) -> ComponentRef:
        """Make the record of one entry point; conflicts with others are not known here."""
        kind = entry.group.removeprefix(GROUP_PREFIX)
        parts = _VALUE.match(entry.value)
        module, attribute = parts.groups() if parts else (None, None)
        # Recipes are a package; everything else is something in a module.
        is_usable = module is not None and (attribute is not None or kind == "recipes")
        status: Status = "ok"
        if entry.shadowed:
            status = "shadowed"
        elif kind not in KINDS or not is_usable:
            status = "bad-metadata"
        elif entry.needs:
            status = "incompatible"
        return cls(
            kind=kind,
            name=entry.name,
            value=f"{module}:{attribute}" if module and attribute else module or entry.value,
            dist=entry.dist,
            version=entry.version,
            status=status,
            editable=entry.editable,
            needs=entry.needs,
        )

    @property
    def qualified(self) -> str:
        """The spelling that names the distribution too: ``reid-plugin-x/name``."""
        return f"{self.dist}/{self.name}"

    @property
    def claims_name(self) -> bool:
        """Whether it lays claim to its name; a second copy or a broken value does not."""
        return self.status not in ("shadowed", "bad-metadata")

    def origin(self) -> str:
        """Name distribution, version and entry point, for messages."""
        return f"{self.dist} {self.version} ({self.value})"


def singular(kind: str) -> str:
    """Return the word for one component of a kind, for messages: ``loss`` of ``losses``."""
    return "loss" if kind == "losses" else kind.removesuffix("s")
