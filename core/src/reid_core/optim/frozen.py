"""Parameters that are not trained, and the batch statistics that stay with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torch import nn

from reid_core.optim.patterns import matching_names

_SETTING = "train.optimizer.frozen"


def freeze(model: nn.Module, patterns: Sequence[str]) -> FrozenStatistics:
    """Take parameters out of the training.

    Doing it twice is the same as doing it once.

    Args:
        model: Whose parameters are frozen.
        patterns: Patterns of their names.

    Returns:
        The batch statistics that have to be held still in every step.

    Raises:
        ConfigError: A pattern matches no parameter.
    """
    names = matching_names(model, patterns, setting=_SETTING)
    for name, parameter in model.named_parameters():
        if name in names:
            parameter.requires_grad_(False)
    return FrozenStatistics(list(_with_statistics(model, names)))


class FrozenStatistics:
    """Keeps normalisation layers at the statistics they have.

    Args:
        modules: Layers with running statistics, all of them frozen.
    """

    def __init__(self, modules: Sequence[nn.Module]) -> None:
        self._modules = tuple(modules)

    def __len__(self) -> int:
        return len(self._modules)

    def hold(self) -> None:
        """Put them into evaluation mode, which ``model.train()`` takes them out of."""
        for module in self._modules:
            if module.training:
                module.eval()


def _with_statistics(
    module: nn.Module, frozen: frozenset[str], prefix: str = "", is_inside: bool = False
) -> Iterator[nn.Module]:
    """Yield the layers with running statistics where all parameters of a module are frozen."""
    own = [f"{prefix}{name}" for name, _ in module.named_parameters()]
    is_inside = is_inside or (bool(own) and frozen.issuperset(own))
    if is_inside and getattr(module, "running_mean", None) is not None:
        yield module
    for name, child in module.named_children():
        yield from _with_statistics(child, frozen, f"{prefix}{name}.", is_inside)
