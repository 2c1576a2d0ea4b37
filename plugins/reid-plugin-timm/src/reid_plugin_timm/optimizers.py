"""Every optimizer of ``timm.optim``, by timm's own names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping

import torch

# What timm documents it does not mark as exported.
from timm.optim import (  # type: ignore[attr-defined]
    create_optimizer_v2,
    get_optimizer_class,
    get_optimizer_info,
    list_optimizers,
)

from reid_core.errors import ConfigError, did_you_mean
from reid_core.plugins.parameters import bind

#: timm's word in front of a name, which has the lookahead around that optimizer.
_LOOKAHEAD = "lookahead_"


def timm_optimizer(
    *,
    params: Iterable[dict[str, object]],
    optimizer: str,
    lr: float,
    weight_decay: float = 0.0,
    settings: dict[str, object] | None = None,
) -> torch.optim.Optimizer:
    """Return an optimizer that timm builds.

    Args:
        params: Parameter groups.
        optimizer: A name of ``timm.optim.list_optimizers()``; ``lookahead_`` in front of it puts
            the lookahead of Zhang et al. (2019) around it.
        lr: Learning rate.
        weight_decay: Weight decay.
        settings: The optimizer's own parameters, under timm's names. What is left out is as timm
            has it for that name, which includes a momentum of 0.9 where there is one.

    Raises:
        ConfigError: timm has no optimizer of that name, it needs what a training step here does not
            offer, a package is missing, or a setting does not fit.
    """
    name = optimizer.removeprefix(_LOOKAHEAD)
    _require_usable(name)
    try:
        factory = get_optimizer_class(name, bind_defaults=False)
    except (ImportError, AssertionError) as error:
        # timm asserts that there is a GPU where apex or bitsandbytes compute on nothing else.
        raise ConfigError(f"optimizer timm: {name} cannot be used here: {error}") from error
    create: Callable[..., torch.optim.Optimizer] = create_optimizer_v2
    return create(
        list(params),
        opt=optimizer,
        lr=lr,
        weight_decay=weight_decay,
        **_checked(name, factory, settings or {}),
    )


def _require_usable(name: str) -> None:
    known = [str(one) for one in list_optimizers()]
    if name not in known:
        raise ConfigError(
            f"optimizer timm: timm has no optimizer {name!r}{did_you_mean(name, known)} (known: "
            f"{', '.join(known)})"
        )
    if get_optimizer_info(name).second_order:
        raise ConfigError(
            f"optimizer timm: {name} needs second derivatives, which a training step does not "
            "compute; use another"
        )


def _checked(
    name: str, factory: Callable[..., object], settings: Mapping[str, object]
) -> Mapping[str, object]:
    """Compare settings with the optimizer's signature, and convert what loses nothing."""
    offered = dict.fromkeys({"params", "lr", "weight_decay"} & _parameters(factory))
    call = bind(factory, settings, offered)
    if call.problems:
        raise ConfigError(
            "\n".join(
                f"optimizer timm: settings.{problem.parameter} of {name}: {problem.message}"
                for problem in call.problems
            )
        )
    return {key: call.keywords[key] for key in settings}


def _parameters(factory: Callable[..., object]) -> set[str]:
    return set(inspect.signature(factory).parameters)
