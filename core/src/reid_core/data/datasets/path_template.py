"""Paths that say who is on an image: templates such as ``{split}/{pid}_c{camid:d}s*.jpg``."""

from __future__ import annotations

import re
from string import Formatter

from reid_core.errors import ConfigError

#: Columns that a path cannot hold.
_NOT_IN_A_PATH = frozenset({"path", "boxes", "attributes"})
_WILDCARD = re.compile(r"(\*\*/|\*\*|\*)")
_WILDCARDS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*"}


class PathTemplate:
    """A template of relative paths.

    ``{name}`` is a part of a file's or folder's name and becomes a column, as short as the rest of
    the template allows; ``{name:d}`` is digits only. A field that comes twice is the same text
    both times. ``*`` is anything inside of a name, ``**`` any folders. Upper and lower case differ.

    Args:
        pattern: The template, with forward slashes; ``{{`` is a brace.
        what: The data set, for messages.

    Raises:
        ConfigError: The braces do not match, a field has another type than ``d``, or ``pid`` is
            missing.
    """

    def __init__(self, pattern: str, *, what: str) -> None:
        self.pattern = pattern.replace("\\", "/")
        self.fields: list[str] = []
        self.numbers: set[str] = set()
        self._error = f"{what}: pattern {pattern!r}"
        try:
            parts = list(Formatter().parse(self.pattern))
        except ValueError as error:
            raise ConfigError(f"{self._error}: {error}; write {{{{ for a brace") from error
        regex = "".join(
            _regex_of_text(text) + ("" if field is None else self._regex_of_field(field, kind))
            for text, field, kind, _ in parts
        )
        if "pid" not in self.fields:
            raise ConfigError(
                f"{self._error} does not say where the identity is; expected {{pid}} in it, for "
                "example {pid}/{camid}/*"
            )
        self._regex = re.compile(regex)

    def match(self, path: str) -> dict[str, str] | None:
        """Return the text of each field, or None for a path that does not fit.

        Args:
            path: A relative path with forward slashes.
        """
        found = self._regex.fullmatch(path)
        return found.groupdict() if found else None

    def _regex_of_field(self, name: str, kind: str | None) -> str:
        if not name.isidentifier() or name in _NOT_IN_A_PATH or kind not in ("", "d"):
            written = f"{{{name}:{kind}}}" if kind else f"{{{name}}}"
            raise ConfigError(
                f"{self._error}: {written} cannot be; expected {{pid}}, {{camid}}, {{split}} or "
                "the name of a further column, and :d for digits"
            )
        if name in self.fields:
            return f"(?P={name})"
        self.fields.append(name)
        if kind == "d":
            self.numbers.add(name)
        return f"(?P<{name}>{'[0-9]+' if kind == 'd' else '[^/]+?'})"


def _regex_of_text(text: str) -> str:
    return "".join(_WILDCARDS.get(part) or re.escape(part) for part in _WILDCARD.split(text))
