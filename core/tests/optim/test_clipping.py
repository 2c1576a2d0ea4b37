from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from reid_core.config.components import ClipConfig
from reid_core.errors import ConfigError
from reid_core.optim import GradientClip, build_clip


def parameters(seed=0):
    """A convolution, a matrix, a vector, a scalar, and one that no gradient reached."""
    generator = torch.Generator().manual_seed(seed)
    made = []
    for shape in ((3, 2, 2, 2), (4, 3), (5,), ()):
        parameter = nn.Parameter(torch.randn(shape, generator=generator))
        parameter.grad = 3 * torch.randn(shape, generator=generator)
        made.append(parameter)
    return [*made, nn.Parameter(torch.ones(2))]


def gradients(made):
    return [p.grad.clone() for p in made if p.grad is not None]


def test_the_norm_of_all_gradients_together_is_limited():
    made = parameters()
    before = gradients(made)
    norm = math.sqrt(sum(float(v) ** 2 for g in before for v in g.flatten()))
    logged = GradientClip(made, method="norm", limit=2.0).clip()
    assert logged["clip/gradient_norm"].item() == pytest.approx(norm, rel=1e-5)
    for now, then in zip(gradients(made), before, strict=True):
        torch.testing.assert_close(now, then * 2.0 / norm, rtol=1e-4, atol=1e-6)


def test_every_value_is_limited():
    made = parameters()
    before = gradients(made)
    assert GradientClip(made, method="value", limit=0.7).clip() == {}
    for now, then in zip(gradients(made), before, strict=True):
        expected = [min(max(float(v), -0.7), 0.7) for v in then.flatten()]
        assert now.flatten().tolist() == pytest.approx(expected)


def adaptive_by_hand(weight, gradient, limit):
    """Unit by unit: a row or an output channel, or all of a vector."""
    if weight.dim() <= 1:
        weight, gradient = weight.reshape(1, -1), gradient.reshape(1, -1)
    units = []
    for unit in range(len(weight)):
        length = math.sqrt(sum(float(v) ** 2 for v in gradient[unit].flatten()))
        size = math.sqrt(sum(float(v) ** 2 for v in weight[unit].flatten()))
        largest = limit * max(size, 1e-3)
        factor = largest / length if length > largest else 1.0
        units += [factor * float(v) for v in gradient[unit].flatten()]
    return units


@pytest.mark.parametrize("limit", [0.01, 0.5, 3.0, 100.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_gradients_are_limited_by_the_weights_of_their_unit(limit, seed):
    made = parameters(seed)
    with torch.no_grad():
        made[1][0] = 0.0  # a unit without weight can still learn
        made[0].grad[1] = 0.0  # and one without gradient is no division by 0
    before = gradients(made)
    assert GradientClip(made, method="adaptive", limit=limit).clip() == {}
    for parameter, then in zip(made, before, strict=False):
        expected = adaptive_by_hand(parameter.detach(), then, limit)
        assert parameter.grad.flatten().tolist() == pytest.approx(expected, rel=1e-4, abs=1e-7)


def clipped(model, **settings):
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, 9.0)
    build_clip(ClipConfig(method="value", limit=1.0, **settings), model).clip()
    return {name for name, p in model.named_parameters() if p.grad.max() == 1.0}


def test_parameters_that_a_loss_owns_are_left_alone(model):
    names = {name for name, _ in model.named_parameters()}
    assert clipped(model) == names - {"losses.0.centers"}


def test_some_can_be_excluded_by_pattern(model):
    assert clipped(model, exclude=["backbone.*", "neck.*"]) == {
        "classifier.weight",
        "classifier.bias",
    }
    with pytest.raises(ConfigError, match=r"train.clip_gradients.exclude: 'fc.\*' matches none"):
        clipped(model, exclude=["fc.*"])


def test_without_a_setting_nothing_is_built(model):
    assert build_clip(None, model) is None
