from __future__ import annotations

import pytest

from reid_core.errors import ConfigError, PluginError
from reid_core.plugins.index import PluginIndex
from reid_core.plugins.registries import OPTIMIZERS
from reid_core.plugins.registry import Registry


class Triplet:
    def __init__(self, *, margin: float = 0.3, sizes: tuple[int, int] = (1, 2)) -> None:
        self.margin = margin
        self.sizes = sizes


def scaled(factor: float, feature_dim: int) -> float:
    return factor * feature_dim


@pytest.fixture
def losses() -> Registry:
    registry = Registry("losses", PluginIndex(()))
    registry.register(Triplet, name="triplet")
    registry.register(scaled)
    return registry


def test_a_class_is_built_with_converted_parameters(losses) -> None:
    loss = losses.build({"name": "triplet", "margin": "1e-4", "sizes": [3, 4]})
    assert isinstance(loss, Triplet)
    assert (loss.margin, loss.sizes) == (0.0001, (3, 4))


def test_a_function_is_called_and_gives_what_it_returns(losses) -> None:
    assert losses.build({"name": "scaled", "factor": 2}, feature_dim=8, num_classes=3) == 16.0


def test_defaults_are_the_components_own(losses) -> None:
    assert losses.build({"name": "triplet"}, feature_dim=8).margin == 0.3


def test_every_wrong_parameter_is_told_on_a_line_of_its_own(losses) -> None:
    with pytest.raises(ConfigError) as raised:
        losses.build({"name": "triplet", "margn": 1, "sizes": [1], "feature_dim": 3}, feature_dim=8)
    assert str(raised.value).splitlines() == [
        "loss triplet: margn: unknown parameter; did you mean margin? (known: margin, sizes)",
        "loss triplet: sizes: 1: field required, got [1]",
        "loss triplet: feature_dim: is set by the trainer; remove it",
    ]


def test_a_missing_parameter_is_named(losses) -> None:
    with pytest.raises(ConfigError, match="loss scaled: factor: required parameter 'factor' is"):
        losses.build({"name": "scaled"}, feature_dim=8)


@pytest.mark.parametrize("config", [{}, {"name": None}, {"name": 3}, {"margin": 1}])
def test_a_config_without_a_name_is_refused(losses, config: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=r"loss: expected \{'name': …, \*\*parameters\}, got"):
        losses.build(config)


def test_an_unknown_name_is_a_plugin_error(losses) -> None:
    with pytest.raises(PluginError, match="unknown loss 'tripled'; did you mean triplet"):
        losses.build({"name": "tripled"})


def test_binding_compares_without_calling(losses) -> None:
    def explode(*, size: int) -> None:
        raise AssertionError("was called")

    losses.register(explode)
    assert losses.bind("explode", {"size": 3}, {}).problems == ()
    assert len(losses.bind("explode", {"size": "x"}, {}).problems) == 1


def test_an_error_of_the_component_itself_comes_through_as_it_is(losses) -> None:
    def explode() -> None:
        raise ZeroDivisionError("of its own")

    losses.register(explode)
    with pytest.raises(ZeroDivisionError, match="of its own"):
        losses.build({"name": "explode"})


def test_an_optimizer_of_torch_is_built_by_its_short_name() -> None:
    import torch

    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = OPTIMIZERS.build(
        {"name": "adam", "lr": "1e-4", "betas": [0.8, 0.99]}, params=[parameter]
    )
    assert isinstance(optimizer, torch.optim.Adam)
    assert optimizer.defaults["lr"] == 0.0001
    assert optimizer.defaults["betas"] == (0.8, 0.99)
