"""Gradients that are kept small before the update."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from reid_core.config.components import ClipConfig
from reid_core.distributed.shares import whole
from reid_core.optim.groups import own_groups
from reid_core.optim.patterns import matching_names

#: Adaptive clipping treats a weight as at least this long, so that one that is 0 can leave it.
SMALLEST_WEIGHT = 1e-3


class GradientClip:
    """Clips the gradients of some parameters.

    - ``norm``: scales them all by ``min(1, limit / n)``, n being the Euclidean norm of all of them
      together.
    - ``value``: cuts each number off at ``-limit`` and ``limit``.
    - ``adaptive``: scales the gradient g of each unit with weights w by
      ``min(1, limit * max(|w|, 1e-3) / |g|)``. A unit is a row of a matrix, an output channel of a
      convolution, and all of a vector.

    Args:
        parameters: Whose gradients are clipped.
        method: The way.
        limit: Above 0: the largest norm; the largest value; or the largest ratio of gradient to
            weight, often 0.01.

    Source: Pascanu et al., On the difficulty of training recurrent neural networks, 2013, for the
        norm; Brock et al., High-Performance Large-Scale Image Recognition Without Normalization,
        2021, equation 3, for the adaptive one.
    """

    def __init__(
        self,
        parameters: Sequence[nn.Parameter],
        *,
        method: Literal["norm", "value", "adaptive"],
        limit: float,
    ) -> None:
        self._parameters = list(parameters)
        self._method = method
        self._limit = limit

    def clip(self) -> Mapping[str, Tensor]:
        """Clip the gradients in place.

        Returns:
            What is to be logged: the norm before, a scalar, where the method computes it.
        """
        if self._method == "norm":
            norm = nn.utils.clip_grad_norm_(self._parameters, self._limit)
            return {"clip/gradient_norm": whole(norm.detach())}
        if self._method == "value":
            nn.utils.clip_grad_value_(self._parameters, self._limit)
        else:
            for parameter in self._parameters:
                if parameter.grad is not None:
                    _clip_to_weight(parameter, parameter.grad, self._limit)
        return {}


def build_clip(config: ClipConfig | None, model: nn.Module) -> GradientClip | None:
    """Build the clipping of a model's gradients.

    Parameters that a module hands over by its own ``parameter_groups()``, such as the centres of a
    loss, are left alone: their gradients have another scale.

    Args:
        config: Method, limit and what to leave out; None clips nothing.
        model: Whose gradients are clipped.

    Raises:
        ConfigError: A pattern of ``exclude`` matches no parameter.
    """
    if config is None:
        return None
    excluded = matching_names(model, config.exclude, setting="train.clip_gradients.exclude")
    owned = {id(parameter) for group in own_groups(model) for parameter in group["params"]}
    parameters = [
        parameter
        for name, parameter in model.named_parameters()
        if parameter.requires_grad and name not in excluded and id(parameter) not in owned
    ]
    return GradientClip(parameters, method=config.method, limit=config.limit)


@torch.no_grad()
def _clip_to_weight(parameter: nn.Parameter, gradient: Tensor, limit: float) -> None:
    largest = limit * _unit_norms(parameter).clamp_min(SMALLEST_WEIGHT)
    # Not a division by 0: a gradient of 0 is its own limit.
    gradient.mul_((largest / _unit_norms(gradient).clamp_min(1e-30)).clamp_max(1.0))


def _unit_norms(values: Tensor) -> Tensor:
    """Return the Euclidean norm of each unit, so shaped that it multiplies the whole."""
    dims = tuple(range(1, values.dim())) or None
    norms: Tensor = torch.linalg.vector_norm(values, dim=dims, keepdim=dims is not None)
    return norms
