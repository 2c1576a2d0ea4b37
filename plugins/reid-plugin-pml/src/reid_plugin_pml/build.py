"""Objects of pytorch-metric-learning from a name and parameters, checked before they are made."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import cast

import torch
from torch import Tensor, nn

from reid_core.errors import ConfigError, did_you_mean
from reid_plugin_pml.catalogue import Kind, class_of, parameters_of

#: Parameters that are objects of the library, written as a name or as {name: …, **parameters}.
_PARTS: Mapping[str, Kind] = {
    "distance": "distances",
    "embedding_regularizer": "regularizers",
    "reducer": "reducers",
    "weight_regularizer": "regularizers",
}


def build(kind: Kind, name: str, params: Mapping[str, object]) -> nn.Module:
    """Build an object of the library.

    Args:
        kind: Where in the library its class is.
        name: Name of the class.
        params: Its parameters, plain values as a configuration gives them, or objects.

    Raises:
        ConfigError: No such class, an unknown, missing or wrong parameter, or the library refuses
            their values.
    """
    cls = class_of(kind, name)
    known = parameters_of(cls)
    keywords = {key: _value(name, key, value, known) for key, value in params.items()}
    missing = [
        key for key, one in known.items() if one.default is one.empty and key not in keywords
    ]
    if missing:
        raise ConfigError(
            f"pml: {name} cannot do without {', '.join(missing)}; give it as a parameter, such as "
            f"{{{missing[0]}: 1}}"
        )
    try:
        made = cls(**keywords)
    except Exception as error:  # the library raises Exception itself, and asserts
        reason = str(error) or type(error).__name__
        raise ConfigError(f"pml: {name} does not take {dict(params)}: {reason}") from error
    _register_tensors(made)
    return made


def _value(name: str, key: str, value: object, known: Mapping[str, inspect.Parameter]) -> object:
    if key not in known:
        raise ConfigError(
            f"pml: {name} has no parameter {key!r}{did_you_mean(key, known)} "
            f"(known: {', '.join(known) or 'none'})"
        )
    if key in _PARTS and value is not None:
        return _part(name, key, value)
    if key == "weights" and isinstance(value, list):
        return torch.tensor(value, dtype=torch.float32)
    return _like(name, key, value, known[key].default)


def _part(name: str, key: str, value: object) -> nn.Module:
    """Build a part that is written as a name, or as a name with parameters."""
    if isinstance(value, str):
        return build(_PARTS[key], value, {})
    if isinstance(value, Mapping) and isinstance(value.get("name"), str):
        parameters = {k: v for k, v in value.items() if k != "name"}
        return build(_PARTS[key], str(value["name"]), parameters)
    raise ConfigError(
        f"pml: {name}: {key}: got {value!r}, expected a class of pytorch_metric_learning."
        f"{_PARTS[key]}, as a name or as {{name: …}} with its parameters"
    )


def _like(name: str, key: str, value: object, default: object) -> object:
    """Check a value against the default, the only hint at a type that the library gives."""
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise ConfigError(f"pml: {name}: {key}: got {value!r}, expected true or false")
    elif isinstance(default, int | float):
        number = _number(value)
        if number is None:
            raise ConfigError(
                f"pml: {name}: {key}: got {value!r}, expected a number, for example {default}"
            )
        return number
    return value


def _number(value: object) -> float | None:
    """Return a number, also of what YAML reads as text, such as 1e-4; None for anything else."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    try:
        return float(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _register_tensors(module: nn.Module) -> None:
    """Make buffers of plain tensors, which the state of a run would leave out otherwise.

    A loss that keeps a running histogram in one would start afresh when a run is resumed. Whole
    numbers are tables that the constructor makes again.
    """
    for part in module.modules():
        for name, value in list(_tensors_of(part)):
            delattr(part, name)
            part.register_buffer(name, value)


def _tensors_of(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    for name, value in cast("dict[str, object]", vars(module)).items():
        if isinstance(value, Tensor) and value.is_floating_point():
            yield name, value
