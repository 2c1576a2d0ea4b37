"""What ``--param KEY=VALUE`` says."""

from __future__ import annotations

from collections.abc import Sequence

from reid_core.errors import ConfigError, UsageError

_QUOTES = ("'", '"')


def read_params(texts: Sequence[str]) -> dict[str, object]:
    """Read parameters of a data set from the command line.

    A value is YAML: a number, true, null, a list, a mapping. What is no YAML is text as it was
    typed, such as the templates ``*/{pid}.jpg`` and ``{pid}_c{camid}.jpg``.

    Args:
        texts: ``KEY=VALUE`` each; of two of one key the last one counts.

    Raises:
        UsageError: One has no ``=``, or no name of a parameter before it.
    """
    parameters: dict[str, object] = {}
    for text in texts:
        key, separator, value = text.partition("=")
        if not separator or not key.strip().isidentifier() or key.strip() == "name":
            raise UsageError(
                f"--param {text!r}: expected key=value, for example --param title=mine"
            )
        parameters[key.strip()] = _value(value, f"--param {text}")
    return parameters


def _value(text: str, source: str) -> object:
    from reid_core.config.yaml_reader import read_value

    # A template such as {pid} #*.jpg begins as a mapping does, and a comment would follow.
    if text.startswith("{") and not text.rstrip().endswith("}"):
        return text
    try:
        value = read_value(text, source).plain()
    except ConfigError:
        return text
    # YAML takes what follows " #" for a comment; nobody comments on an option.
    is_plain_text = isinstance(value, str) and not text.lstrip().startswith(_QUOTES)
    return text.strip() if is_plain_text else value
