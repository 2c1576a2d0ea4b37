from collections.abc import Callable
from typing import Literal, cast

import pytest
import torch
from torch import Tensor, nn

from reid_core.config.components import OptimizerConfig
from reid_core.contracts import Batch, HeadOutput
from reid_core.errors import ConfigError
from reid_core.optim import build_optimizer
from reid_plugin_losses.center import CenterLoss, Form
from reid_plugin_losses.contrastive_memory import ContrastiveMemoryLoss
from reid_plugin_losses.proxy_anchor import ProxyAnchorLoss

MakeBatch = Callable[[Tensor], Batch]

FEATURES = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 4.0]])
CENTERS = torch.tensor([[0.0, 0.0], [2.0, 2.0]])
PIDS = torch.tensor([0, 0, 1])


def build(weight: float = 1.0, form: Form = "full", centers: Tensor = CENTERS) -> CenterLoss:
    loss = CenterLoss(
        num_classes=len(centers), feature_dim=centers.shape[1], weight=weight, form=form
    ).to(centers.dtype)
    with torch.no_grad():
        loss.centers.copy_(centers)
    return loss


def gradients(
    loss: CenterLoss, features: Tensor, batch: Batch, scale: float = 1.0
) -> tuple[Tensor, Tensor]:
    """Return what reaches features and centres when the model weighs and scales the loss."""
    leaf = features.clone().requires_grad_()
    loss.zero_grad()
    value = loss(HeadOutput(leaf, {"global": leaf}), batch)
    (value * loss.weight * scale).backward()
    assert leaf.grad is not None
    assert loss.centers.grad is not None
    return leaf.grad / scale, loss.centers.grad / scale


@pytest.mark.parametrize(("form", "expected"), [("full", 2.0), ("half", 1.0)])
def test_both_forms_have_their_published_value(
    make_batch: MakeBatch, form: Form, expected: float
) -> None:  # B082
    value = build(form=form)(HeadOutput(FEATURES, {"global": FEATURES}), make_batch(PIDS))
    assert value.item() == pytest.approx(expected, rel=1e-6)


def test_the_weight_reaches_the_features_and_not_the_centres(make_batch: MakeBatch) -> None:  # B082
    features, centers = gradients(build(weight=0.0005), FEATURES, make_batch(PIDS))
    torch.testing.assert_close(centers[0], torch.tensor([-2 / 3, -2 / 3]))
    torch.testing.assert_close(centers[1], torch.tensor([0.0, -4 / 3]))
    torch.testing.assert_close(features, 0.0005 * 2 / 3 * (FEATURES - CENTERS[PIDS]))


@pytest.mark.parametrize("form", ["full", "half"])
@pytest.mark.parametrize("weight", [0.0005, 1.0, 3.0])
@pytest.mark.parametrize("seed", range(3))
def test_values_and_gradients_are_those_of_plain_loops(
    make_batch: MakeBatch, seed: int, weight: float, form: Form
) -> None:
    generator = torch.Generator().manual_seed(seed)
    given = torch.randn(9, 5, generator=generator).double()
    at = torch.randn(4, 5, generator=generator).double()
    pids = torch.randint(4, (9,), generator=generator)
    features, centers = given.clone().requires_grad_(), at.clone().requires_grad_()
    total = features.new_zeros(())
    for row, pid in zip(features, pids.tolist(), strict=True):
        total = total + (row - centers[pid]).square().sum() / (2 if form == "half" else 1)
    (total / 9).backward()
    loss = build(weight, form, at)
    value = loss(HeadOutput(given, {"global": given}), make_batch(pids))
    torch.testing.assert_close(value, (total / 9).detach(), check_dtype=False, rtol=1e-12, atol=0)
    of_features, of_centers = gradients(loss, given, make_batch(pids))
    torch.testing.assert_close(of_features, weight * features.grad)
    torch.testing.assert_close(of_centers, centers.grad)


def test_a_loss_that_is_scaled_for_half_precision_moves_the_centres_as_in_float32(
    make_batch: MakeBatch,
) -> None:  # B117
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(32, 2048, generator=generator) * 3
    at, pids = torch.randn(8, 2048, generator=generator), torch.arange(32) % 8
    loss = build(0.0005, centers=at)
    batch = make_batch(pids)
    plain_features, plain = gradients(loss, features, batch)
    half_features, scaled = gradients(loss, features.half(), batch, scale=65536)
    torch.testing.assert_close(scaled, plain, rtol=1e-3, atol=1e-3 * plain.abs().max().item())
    assert torch.isfinite(half_features).all()
    same_features, exact = gradients(loss, features, batch, scale=65536)
    torch.testing.assert_close(exact, plain, rtol=1e-6, atol=1e-9)
    torch.testing.assert_close(same_features, plain_features, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize(
    "optimizer",
    [
        lambda groups: torch.optim.SGD(groups, lr=0.01, momentum=0.9, nesterov=True),
        lambda groups: torch.optim.SGD(groups, lr=0.01, weight_decay=0.1),
    ],
)
def test_under_sgd_the_centres_take_the_published_step(
    make_batch: MakeBatch, optimizer: Callable[[list[dict[str, object]]], torch.optim.Optimizer]
) -> None:
    loss = build(weight=0.0005)
    steps = optimizer([{"params": [torch.nn.Parameter(torch.zeros(1))]}, *loss.parameter_groups()])
    expected = CENTERS.double()
    for _ in range(3):
        gradients(loss, FEATURES, make_batch(PIDS))
        steps.step()
        pull = torch.zeros(2, 2, dtype=torch.float64).index_add(
            0, PIDS, expected[PIDS] - FEATURES.double()
        )
        expected = expected - 0.5 * 2 / 3 * pull
        torch.testing.assert_close(loss.centers.detach().double(), expected, rtol=1e-6, atol=1e-6)


def test_the_centres_are_moved_by_sgd_whatever_the_rest_is_trained_with(
    make_batch: MakeBatch,
) -> None:
    model = nn.Sequential(nn.Linear(2, 2), build())
    optimizer = build_optimizer(OptimizerConfig(name="adam", lr=0.1), model)
    group = optimizer.param_groups[-1]
    assert (group["initial_lr"], group["weight_decay"], group["is_scheduled"]) == (0.5, 0.0, False)
    centers = model[1].centers
    before = centers.detach().clone()
    centers.grad = torch.tensor([[2.0, -3.0], [0.5, 0.0]])
    optimizer.step()
    torch.testing.assert_close(centers.detach(), before - 0.5 * centers.grad)


def test_a_weight_of_0_leaves_gradients_finite(make_batch: MakeBatch) -> None:
    features, centers = gradients(build(weight=0.0), FEATURES, make_batch(PIDS))
    assert torch.equal(features, torch.zeros(3, 2))
    assert torch.equal(centers, torch.zeros(2, 2))


def test_the_mean_distance_is_logged(make_batch: MakeBatch) -> None:
    loss = build()
    assert loss.metrics() == {}
    loss(HeadOutput(FEATURES, {"global": FEATURES}), make_batch(PIDS))
    assert loss.metrics()["distance"].item() == pytest.approx((1 + 1 + 2) / 3)


def test_centres_begin_at_random_from_the_global_seed() -> None:
    torch.manual_seed(0)
    first = CenterLoss(num_classes=50, feature_dim=100)
    torch.manual_seed(0)
    assert torch.equal(first.centers, CenterLoss(num_classes=50, feature_dim=100).centers)
    assert first.centers.std().item() == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("cls", [CenterLoss, ProxyAnchorLoss, ContrastiveMemoryLoss])
def test_features_of_another_length_than_the_embedding_can_be_named(
    make_batch: MakeBatch, cls: Callable[..., nn.Module]
) -> None:
    parameters = {} if cls is ContrastiveMemoryLoss else {"num_classes": 2}
    output = HeadOutput(torch.zeros(3, 9), {"part": FEATURES})
    for feature_dim in (None, 9):
        loss = cls(feature_dim=feature_dim, embedding_size=2, **parameters)
        assert torch.isfinite(loss(output, make_batch(PIDS)))
    with pytest.raises(ConfigError, match=r"part has features of length 2.*embedding_size: 2"):
        cls(feature_dim=9, **parameters)(output, make_batch(PIDS))


def test_wrong_parameters_and_branches_are_errors(make_batch: MakeBatch) -> None:
    with pytest.raises(ConfigError, match=r"center: form: got 'hlaf'.*did you mean half"):
        CenterLoss(num_classes=2, feature_dim=2, form=cast("Literal['half']", "hlaf"))
    with pytest.raises(ConfigError, match="center: center_lr: got 0, expected above 0"):
        CenterLoss(num_classes=2, feature_dim=2, center_lr=0)
    with pytest.raises(ConfigError, match="center: num_classes is not known"):
        CenterLoss(feature_dim=2)
    with pytest.raises(ConfigError, match="center: the head gave no features"):
        build()(HeadOutput(FEATURES, {}), make_batch(PIDS))
    with pytest.raises(ConfigError, match="it keeps centres for one feature"):
        build()(HeadOutput(FEATURES, {"a": FEATURES, "b": FEATURES}), make_batch(PIDS))
