"""An optimizer from its configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import nn
from torch.optim import Optimizer

from reid_core.config.components import OptimizerConfig
from reid_core.errors import ConfigError, PluginError
from reid_core.optim.frozen import freeze
from reid_core.optim.groups import parameter_groups
from reid_core.optim.joint import JointOptimizer
from reid_core.plugins.registries import OPTIMIZERS


def build_optimizer(config: OptimizerConfig, model: nn.Module) -> Optimizer:
    """Build the optimizer over all parameters that require a gradient.

    Parameters that ``config.frozen`` names require none afterwards. See
    :func:`reid_core.optim.groups.parameter_groups` for the groups.

    Args:
        config: Name, learning rate, weight decay, groups and the optimizer's own parameters.
        model: Whose parameters are trained.

    Returns:
        The optimizer; each group has its base learning rate as ``initial_lr`` too.

    Raises:
        ConfigError: Nothing can be trained, or a parameter does not fit.
        PluginError: The optimizer cannot be found, or is none.
    """
    freeze(model, config.frozen)
    groups = parameter_groups(config, model)
    if not groups:
        raise ConfigError("the model has no parameter that can be trained")
    return build_from_groups(config, groups)


def build_from_groups(config: OptimizerConfig, groups: Sequence[Mapping[str, object]]) -> Optimizer:
    """Build the optimizer over groups that are made already.

    Args:
        config: Name, learning rate, weight decay and the optimizer's own parameters.
        groups: Parameter groups; what one does not say of itself is as in ``config``.

    Raises:
        ConfigError: A parameter does not fit.
        PluginError: The optimizer cannot be found, or is none.
    """
    shared = [dict(group) for group in groups if "optimizer" not in group]
    base = {"lr": config.lr, "weight_decay": config.weight_decay}
    members = [_build({**base, **config.as_call()}, shared)] if shared else []
    for group in groups:
        if "optimizer" in group:
            own = {key: value for key, value in group.items() if key != "optimizer"}
            members.append(_build({"name": group["optimizer"], **base}, [own]))
    optimizer = members[0] if len(members) == 1 else JointOptimizer(members)
    for param_group in optimizer.param_groups:
        # The schedule multiplies this one; 'lr' is what the current step uses.
        param_group["initial_lr"] = param_group["lr"]
    return optimizer


def _build(call: dict[str, object], groups: list[dict[str, object]]) -> Optimizer:
    try:
        optimizer = OPTIMIZERS.build(call, params=groups)
    except ValueError as error:
        # Optimizers of torch say so of a value outside its range.
        raise ConfigError(f"optimizer {call['name']}: {error}") from error
    if not isinstance(optimizer, Optimizer):
        raise PluginError(
            f"optimizer {call['name']} gave a {type(optimizer).__name__}; expected a "
            "torch.optim.Optimizer"
        )
    return optimizer
