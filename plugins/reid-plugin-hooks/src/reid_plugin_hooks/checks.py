"""Checks of parameters that several hooks share."""

from __future__ import annotations

from reid_core.errors import ConfigError


def require_plain_name(hook: str, parameter: str, name: str) -> str:
    """Return ``name`` if it is a name inside the run folder.

    Args:
        hook: Name of the hook, for the message.
        parameter: Name of the parameter, likewise.
        name: Its value.

    Raises:
        ConfigError: It is empty, or leads to another folder.
    """
    if name.strip() and name not in (".", "..") and not set(name) & set("/\\:"):
        return name
    raise ConfigError(
        f"hook {hook}: {parameter} is {name!r}; expected a plain name, which lies in the run folder"
    )
