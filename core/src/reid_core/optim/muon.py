"""Muon, for models whose weights are all matrices."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import torch

from reid_core.errors import ConfigError


def muon(
    *,
    params: Iterable[dict[str, object]],
    lr: float = 1e-3,
    weight_decay: float = 0.1,
    momentum: float = 0.95,
    nesterov: bool = True,
    ns_steps: int = 5,
    eps: float = 1e-7,
    adjust_lr_fn: Literal["original", "match_rms_adamw"] | None = None,
) -> torch.optim.Optimizer:
    """Return ``torch.optim.Muon``.

    Args:
        params: Parameter groups, all of matrices.
        lr: Learning rate.
        weight_decay: Weight decay, decoupled from the gradient.
        momentum: Momentum, from 0 to 1.
        nesterov: Whether it is Nesterov's momentum.
        ns_steps: Steps of the Newton-Schulz iteration.
        eps: Added to the norm that is divided by.
        adjust_lr_fn: How the learning rate follows the shape of a matrix; None is torch's default.

    Raises:
        ConfigError: The installed torch has no Muon, or a parameter is no matrix.

    Source: Jordan et al., Muon: an optimizer for hidden layers in neural networks, 2024.
    """
    optimizer = getattr(torch.optim, "Muon", None)
    if optimizer is None:
        raise ConfigError(
            f"optimizer muon needs torch 2.9 or newer, and torch {torch.__version__} is installed; "
            "pip install --upgrade torch"
        )
    groups = list(params)
    shapes = [tuple(p.shape) for group in groups for p in _tensors(group) if p.dim() != 2]
    if shapes:
        raise ConfigError(
            f"optimizer muon takes matrices only, and {len(shapes)} parameters of the model are "
            f"none, the first of shape {shapes[0]}; timm's Muon updates those with AdamW: "
            "{name: timm, optimizer: muon} of reid-plugin-timm"
        )
    built: torch.optim.Optimizer = optimizer(
        groups,
        lr=lr,
        weight_decay=weight_decay,
        momentum=momentum,
        nesterov=nesterov,
        ns_steps=ns_steps,
        eps=eps,
        adjust_lr_fn=adjust_lr_fn,
    )
    return built


def _tensors(group: dict[str, object]) -> list[torch.Tensor]:
    params = group["params"]
    assert isinstance(params, list)
    return params
