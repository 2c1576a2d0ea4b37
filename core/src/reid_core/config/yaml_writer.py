"""Plain values to YAML text that :mod:`reid_core.config.yaml_reader` reads back as they were."""

from __future__ import annotations

from collections.abc import Mapping

import yaml

from reid_core.config.yaml_reader import plain_scalar

# Line breaks to YAML that PyYAML escapes only within double quotes.
_LINE_BREAKS = "\x85\u2028\u2029"


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: object) -> bool:
        return True  # a value that is used twice is written twice: people edit these files


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # PyYAML quotes what YAML 1.1 would misread; 1e-4 and 0o17 are numbers only in YAML 1.2.
    style = None if isinstance(plain_scalar(text), str) else "'"
    if any(mark in text for mark in _LINE_BREAKS):
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def write_yaml(plain: Mapping[str, object]) -> str:
    """Return plain types as YAML text, keys in the order they have."""
    return yaml.dump(plain, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
