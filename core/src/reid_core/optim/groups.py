"""The parameter groups of an optimizer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypedDict, cast

from torch import Tensor, nn

from reid_core.config.components import OptimizerConfig
from reid_core.errors import ConfigError
from reid_core.optim.layer_decay import layer_factors

_NORMS = (
    nn.modules.batchnorm._NormBase,
    nn.GroupNorm,
    nn.LayerNorm,
    nn.LocalResponseNorm,
    nn.RMSNorm,
)
#: Normalisation layers of other packages that derive from none of the above.
_NORM_NAME = re.compile(r"(batch|layer|group|instance|rms|response)_?norm", re.IGNORECASE)


class ParameterGroup(TypedDict, total=False):
    """A group as ``torch.optim`` takes it."""

    name: str
    params: list[nn.Parameter]
    lr: float
    lr_factor: float
    weight_decay: float
    #: Name of an optimizer of its own, for example ``sgd``.
    optimizer: str
    #: Whether the schedule of the run moves the rate; it does unless this is False.
    is_scheduled: bool


@dataclass(frozen=True)
class _Rule:
    """What a parameter's learning rate and weight decay are."""

    lr_factor: float
    weight_decay: float

    @property
    def name(self) -> str:
        return f"lr x{self.lr_factor:g}, decay {self.weight_decay:g}"


def parameter_groups(config: OptimizerConfig, model: nn.Module) -> list[ParameterGroup]:
    """Return the groups of everything that is trained, in the order of the model's parameters.

    The weight decay of a parameter is ``weight_decay``; of a normalisation layer's,
    ``norm_weight_decay`` where that is set; and then, of one called ``bias``, ``bias_weight_decay``
    where that is set. Its learning rate is ``lr`` times ``bias_lr_factor`` if it is called
    ``bias``, times ``head_lr_factor`` if it lies outside the backbone, times the factor of
    ``layer_decay``. Parameters with the same rate and decay form one group. A module's own
    ``parameter_groups()`` follow, each as it is; one with ``lr_factor`` gets ``lr`` times that, and
    one that names an ``optimizer`` is stepped by that.

    Args:
        config: The settings.
        model: Whose parameters are trained; frozen ones are left out already.

    Raises:
        ConfigError: Settings speak of a backbone and there is none.
        PluginError: The backbone's ``layer_groups()`` do not fit its parameters.
    """
    own = own_groups(model)
    owned = {id(parameter) for group in own for parameter in group["params"]}
    norms = {
        f"{prefix}.{name}" if prefix else name
        for prefix, module in model.named_modules()
        if is_norm(module)
        for name, _ in module.named_parameters(recurse=False)
    }
    factors = _lr_factors(config, model)
    merged: dict[_Rule, list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad and id(parameter) not in owned:
            rule = _rule(config, name, is_norm=name in norms, lr_factor=factors[name])
            merged.setdefault(rule, []).append(parameter)
    groups: list[ParameterGroup] = [
        {
            "name": rule.name,
            "params": parameters,
            "lr": config.lr * rule.lr_factor,
            "weight_decay": rule.weight_decay,
        }
        for rule, parameters in merged.items()
    ]
    return [*groups, *(_at_rate(group, config.lr) for group in own)]


def own_groups(model: nn.Module) -> list[ParameterGroup]:
    """Return the groups that modules, such as losses, hand over by ``parameter_groups()``."""
    found: list[ParameterGroup] = []
    for path, module in model.named_modules():
        groups = getattr(module, "parameter_groups", None)
        if not callable(groups):
            continue
        for position, group in enumerate(groups()):
            params = [parameter for parameter in group["params"] if parameter.requires_grad]
            name = f"{path}.{position}" if position else path
            if params:
                found.append(cast("ParameterGroup", {"name": name, **group, "params": params}))
    return found


def _at_rate(group: ParameterGroup, lr: float) -> ParameterGroup:
    """Return a group whose rate is given as a factor with that rate, any other as it is."""
    if "lr_factor" not in group:
        return group
    at_rate: ParameterGroup = {**group, "lr": lr * group["lr_factor"]}
    del at_rate["lr_factor"]
    return at_rate


def is_norm(module: nn.Module) -> bool:
    """Say whether a module is a normalisation layer."""
    return isinstance(module, _NORMS) or bool(_NORM_NAME.search(type(module).__name__))


def backbone_parts(model: nn.Module) -> tuple[str, ...]:
    """Return the names of the submodules that make up the backbone.

    It is ``backbone``, unless the model names others in its attribute ``backbone_parts``, as one
    does that takes its backbone apart.
    """
    parts = getattr(model, "backbone_parts", ("backbone",))
    return tuple(part for part in parts if _has(model, part))


def _has(model: nn.Module, path: str) -> bool:
    return any(name == path for name, _ in model.named_modules())


def _lr_factors(config: OptimizerConfig, model: nn.Module) -> Mapping[str, float]:
    """Return the factor on the learning rate by name, that of biases left out."""
    parts = backbone_parts(model)
    if config.head_lr_factor != 1 and not parts:
        raise ConfigError(
            f"train.optimizer.head_lr_factor: {type(model).__name__} has no part called backbone, "
            "so nothing is known to lie outside of it; leave it at 1"
        )
    by_layer = {} if config.layer_decay is None else layer_factors(model, config.layer_decay)
    return {
        name: by_layer.get(name, 1.0) * (1.0 if _is_inside(name, parts) else config.head_lr_factor)
        for name, _ in model.named_parameters()
    }


def _is_inside(name: str, parts: tuple[str, ...]) -> bool:
    return any(name.startswith(f"{part}.") for part in parts)


def _rule(config: OptimizerConfig, name: str, *, is_norm: bool, lr_factor: float) -> _Rule:
    decay = config.weight_decay
    if is_norm and config.norm_weight_decay is not None:
        decay = config.norm_weight_decay
    if name.rpartition(".")[2] != "bias":
        return _Rule(lr_factor, decay)
    if config.bias_weight_decay is not None:
        decay = config.bias_weight_decay
    return _Rule(lr_factor * config.bias_lr_factor, decay)


def describe_groups(groups: list[dict[str, object]]) -> Iterator[str]:
    """Yield a table of the groups of an optimizer, a line each, for the log.

    Args:
        groups: ``optimizer.param_groups``.
    """
    rows = [("group", "tensors", "parameters", "lr", "weight decay")]
    for position, group in enumerate(groups):
        params = group["params"]
        assert isinstance(params, list)
        sizes = [parameter.numel() for parameter in params if isinstance(parameter, Tensor)]
        rows.append(
            (
                str(group.get("name", position)),
                str(len(sizes)),
                f"{sum(sizes):,}",
                f"{group['initial_lr']:.4g}",
                f"{group.get('weight_decay', 0.0):.4g}",
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        first, *rest = (
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join([first, *rest])
