"""An optimizer from its configuration."""

from __future__ import annotations

from torch import nn
from torch.optim import Optimizer

from reid_core.config.components import OptimizerConfig
from reid_core.errors import ConfigError, PluginError
from reid_core.plugins.registries import OPTIMIZERS


def build_optimizer(config: OptimizerConfig, model: nn.Module) -> Optimizer:
    """Build the optimizer over all parameters that require a gradient.

    A submodule that has ``parameter_groups()`` (a loss with its own learning rate, say) hands its
    parameters over as groups; the rest forms one group.

    Args:
        config: Name, learning rate, weight decay and the optimizer's own parameters.
        model: Whose parameters are trained.

    Raises:
        ConfigError: Nothing can be trained, or a parameter does not fit.
        PluginError: The optimizer cannot be found, or is none.
    """
    own_groups: list[dict[str, object]] = []
    taken: set[int] = set()
    for module in model.modules():
        groups = getattr(module, "parameter_groups", None)
        if callable(groups):
            for group in groups():
                own_groups.append(group)
                taken |= {id(parameter) for parameter in group["params"]}
    rest = [p for p in model.parameters() if p.requires_grad and id(p) not in taken]
    if not rest and not own_groups:
        raise ConfigError("the model has no parameter that can be trained")
    optimizer = OPTIMIZERS.build(
        {"lr": config.lr, "weight_decay": config.weight_decay, **config.as_call()},
        params=[{"params": rest}, *own_groups],
    )
    if not isinstance(optimizer, Optimizer):
        raise PluginError(
            f"optimizer {config.name} gave a {type(optimizer).__name__}; expected a "
            "torch.optim.Optimizer"
        )
    for group in optimizer.param_groups:
        # The schedule multiplies this one; 'lr' is what the current step uses.
        group["initial_lr"] = group["lr"]
    return optimizer
