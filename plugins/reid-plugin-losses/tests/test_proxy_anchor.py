from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from reid_core.contracts import Batch, HeadOutput
from reid_core.errors import ConfigError
from reid_plugin_losses.proxy_anchor import ProxyAnchorLoss

MakeBatch = Callable[[Tensor], Batch]


def plain_loops(
    features: Tensor, pids: list[int], proxies: Tensor, alpha: float, margin: float
) -> Tensor:
    pull, push = [], []
    for p, proxy in enumerate(proxies):
        own, other = features.new_zeros(()), features.new_zeros(())
        for row, pid in zip(features, pids, strict=True):
            s = (row * proxy).sum() / row.norm() / proxy.norm()
            if pid == p:
                own = own + (-alpha * (s - margin)).exp()
            else:
                other = other + (alpha * (s + margin)).exp()
        push.append((1 + other).log())
        if p in pids:
            pull.append((1 + own).log())
    return torch.stack(pull).mean() + torch.stack(push).mean()


@pytest.mark.parametrize(("alpha", "margin"), [(32.0, 0.1), (4.0, 0.3)])
@pytest.mark.parametrize("seed", range(4))
def test_values_and_gradients_are_those_of_plain_loops(
    make_batch: MakeBatch, seed: int, alpha: float, margin: float
) -> None:
    generator = torch.Generator().manual_seed(seed)
    given = torch.randn(9, 5, generator=generator).double()
    pids = torch.randint(6, (9,), generator=generator)
    torch.manual_seed(seed)
    loss = ProxyAnchorLoss(num_classes=6, feature_dim=5, alpha=alpha, margin=margin).double()
    ours, theirs = (given.clone().requires_grad_() for _ in range(2))
    proxies = loss.proxies.detach().clone().requires_grad_()
    value = loss(HeadOutput(ours, {"global": ours}), make_batch(pids))
    expected = plain_loops(theirs, pids.tolist(), proxies, alpha, margin)
    torch.testing.assert_close(value, expected)
    found = torch.autograd.grad(value, (ours, loss.proxies))
    wanted = torch.autograd.grad(expected, (theirs, proxies))
    for mine, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-6, atol=1e-9)


def test_statistics_are_those_of_a_row_and_the_proxies(make_batch: MakeBatch) -> None:
    loss = ProxyAnchorLoss(num_classes=3, feature_dim=2)
    with torch.no_grad():
        loss.proxies.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]))
    features = torch.tensor([[2.0, 0.0], [0.8, 0.6]])
    loss(HeadOutput(features, {"global": features}), make_batch(torch.tensor([0, 1])))
    metrics = loss.metrics()
    assert metrics["valid_anchors"].item() == 2
    assert metrics["active_fraction"].item() == 0.5  # the second is nearer to the first proxy
    assert metrics["hardest_positive_distance"].item() == pytest.approx((0 + 0.4) / 2)
    assert metrics["hardest_negative_distance"].item() == pytest.approx((1 + 0.2) / 2)


def test_the_proxies_have_a_rate_of_their_own_only_when_it_is_set() -> None:
    loss = ProxyAnchorLoss(num_classes=3, feature_dim=2, proxy_lr=0.01)
    (group,) = loss.parameter_groups()
    assert (group["lr"], group["weight_decay"]) == (0.01, 0.0)
    (plain,) = ProxyAnchorLoss(num_classes=3, feature_dim=2).parameter_groups()
    assert "lr" not in plain


def test_wrong_parameters_and_branches_are_errors(make_batch: MakeBatch) -> None:
    for name in ("alpha", "proxy_lr"):
        with pytest.raises(ConfigError, match=f"proxy_anchor: {name}: got 0, expected above 0"):
            ProxyAnchorLoss(num_classes=3, feature_dim=2, **{name: 0})
    with pytest.raises(ConfigError, match="proxy_anchor: margin: got -1, expected at least 0"):
        ProxyAnchorLoss(num_classes=3, feature_dim=2, margin=-1)
    with pytest.raises(ConfigError, match="proxy_anchor: the length of the features is not known"):
        ProxyAnchorLoss(num_classes=3)
    features = torch.zeros(2, 4)
    with pytest.raises(ConfigError, match="has features of length 4, expected 2"):
        ProxyAnchorLoss(num_classes=3, feature_dim=2)(
            HeadOutput(features, {"global": features}), make_batch(torch.tensor([0, 1]))
        )
