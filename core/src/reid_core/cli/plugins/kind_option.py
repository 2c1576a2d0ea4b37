"""The option that picks one component kind."""

from __future__ import annotations

import click

from reid_core.errors import UsageError, did_you_mean
from reid_core.plugins.component_ref import KINDS, singular

kind_option = click.option("--kind", metavar="K", help=f"Only one kind: {', '.join(KINDS)}.")


def known_kind(text: str) -> str:
    """Return the kind that a text means, in the plural or the singular.

    Raises:
        UsageError: There is no such kind.
    """
    for kind in KINDS:
        if text in (kind, singular(kind)):
            return kind
    raise UsageError(
        f"--kind {text}: no such kind{did_you_mean(text, KINDS)} (known: {', '.join(KINDS)})"
    )
