"""The classes of pytorch-metric-learning that a configuration can name, and their parameters."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from typing import Literal

from torch import nn

from reid_core.errors import ConfigError, did_you_mean

Kind = Literal["losses", "miners", "reducers", "distances", "regularizers"]

#: Classes that are exported beside those that can be used, and why they cannot.
_REFUSED: Mapping[str, str] = {
    "BaseDistance": "it is the base class of the distances",
    "BaseLossWrapper": "it is the base class of wrappers",
    "BaseMetricLossFunction": "it is the base class of the losses",
    "BaseMiner": "it is the base class of the miners",
    "BaseReducer": "it is the base class of the reducers",
    "BaseRegularizer": "it is the base class of the regularizers",
    "BatchedDistance": "it is for distances that do not fit into memory, and no loss takes it",
    "CrossBatchMemory": "set memory to the number of features to remember instead",
    "DoNothingReducer": "it gives no number that could be minimised",
    "EmbeddingsAlreadyPackagedAsTriplets": "the samplers make no batches of triplets",
    "GenericPairLoss": "it is the base class of losses of pairs",
    "ManifoldLoss": "it takes no labels",
    "MultipleLosses": "list several losses in model.losses instead",
    "MultipleReducers": "the library makes it where a loss has several terms",
    "SelfSupervisedLoss": "it needs two views of each image",
    "VICRegLoss": "it needs two views of each image, and takes no labels",
}

#: Parameters that are not a configuration's to set: functions, what a class sets in its base class,
#: and the library's own statistics, which make the host wait for the device.
_HIDDEN = ("aggregation_func", "collect_stats", "mat_based_loss", "weight_init_func")


def classes(kind: Kind) -> dict[str, type[nn.Module]]:
    """Return the classes of a kind that can be named, sorted by name."""
    module = importlib.import_module(f"pytorch_metric_learning.{kind}")
    return {
        name: member
        for name, member in inspect.getmembers(module, inspect.isclass)
        if issubclass(member, nn.Module) and name not in _REFUSED
    }


def class_of(kind: Kind, name: str) -> type[nn.Module]:
    """Return a class by its name.

    Args:
        kind: Where in the library it is.
        name: As the library spells it.

    Raises:
        ConfigError: The library has no such class, or it cannot be used here.
    """
    if name in _REFUSED:
        raise ConfigError(f"pml: {name} cannot be used: {_REFUSED[name]}")
    known = classes(kind)
    if name not in known:
        raise ConfigError(
            f"pml: pytorch_metric_learning.{kind} has no class {name!r}"
            f"{did_you_mean(name, known)} (known: {', '.join(known)})"
        )
    return known[name]


def parameters_of(cls: type[nn.Module]) -> dict[str, inspect.Parameter]:
    """Return the parameters of a constructor by name, those of its base classes included.

    The library's constructors pass what they do not know on to the next class, by ``**kwargs``.

    Args:
        cls: A class of the library.
    """
    found: dict[str, inspect.Parameter] = {}
    for base in cls.__mro__:
        if "__init__" not in vars(base):
            continue
        own = inspect.signature(vars(base)["__init__"]).parameters.values()
        for parameter in list(own)[1:]:  # without self
            if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                found.setdefault(parameter.name, parameter)
        if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in own):
            break
    return {name: parameter for name, parameter in found.items() if name not in _HIDDEN}
