"""What must not leave the machine with a configuration or a description of the environment."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

#: Words that make a name one of a secret: ``api_key``, ``WANDB_API_KEY``, ``hf-token``.
_WORDS = frozenset(
    ("apikey", "credential", "credentials", "key", "passwd", "password", "secret", "token")
)
#: The name and password in an address: ``https://me:secret@host``.
_LOGIN = re.compile(r"(?<=://)[^/@\s]+(?=@)")


def is_secret_name(name: str) -> bool:
    """Say whether a name is that of a secret, by its words.

    Args:
        name: Of an environment variable or a parameter; words are separated by ``_``, ``-``, ``.``.
    """
    return not _WORDS.isdisjoint(re.split(r"[^a-z0-9]+", name.lower()))


def without_secrets(plain: Mapping[str, object]) -> dict[str, object]:
    """Return a copy without entries named like secrets, and without logins in addresses.

    Args:
        plain: Plain types, nested to any depth.

    Returns:
        The same; entries whose name says ``key``, ``token``, ``secret``, ``password`` or
        ``credentials`` are missing, and ``me:secret@`` in an address is ``***@``.
    """
    return cast("dict[str, object]", _cleaned(plain))


def holds_secrets(plain: Mapping[str, object]) -> bool:
    """Say whether :func:`without_secrets` would change something.

    Args:
        plain: Plain types, nested to any depth.
    """
    return without_secrets(plain) != _listed(plain)


def _cleaned(value: object) -> object:
    if isinstance(value, Mapping):
        return {k: _cleaned(v) for k, v in value.items() if not is_secret_name(str(k))}
    if isinstance(value, list | tuple):
        return [_cleaned(child) for child in value]
    return _LOGIN.sub("***", value) if isinstance(value, str) else value


def _listed(value: object) -> object:
    """Return a copy in the containers that :func:`_cleaned` uses."""
    if isinstance(value, Mapping):
        return {k: _listed(v) for k, v in value.items()}
    return [_listed(v) for v in value] if isinstance(value, list | tuple) else value
