"""What every loss over features keeps, whatever its formula."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from reid_core.contracts import Batch, HeadOutput
from reid_core.errors import ConfigError
from reid_plugin_losses.center import CenterLoss
from reid_plugin_losses.circle import CircleLoss
from reid_plugin_losses.contrastive import ContrastiveLoss
from reid_plugin_losses.contrastive_memory import ContrastiveMemoryLoss
from reid_plugin_losses.cosface import CosFaceLoss
from reid_plugin_losses.info_nce import InfoNCELoss
from reid_plugin_losses.multi_similarity import MultiSimilarityLoss
from reid_plugin_losses.pair_loss import PairLoss
from reid_plugin_losses.proxy_anchor import ProxyAnchorLoss
from reid_plugin_losses.supervised_contrastive import SupervisedContrastiveLoss
from reid_plugin_losses.triplet import TripletLoss

MakeBatch = Callable[[Tensor], Batch]
Build = Callable[[int], nn.Module]

PIDS = torch.arange(4).repeat_interleave(4)
OVER_PAIRS: dict[str, Build] = {
    "circle": lambda width: CircleLoss(),
    "cosface": lambda width: CosFaceLoss(),
    "contrastive": lambda width: ContrastiveLoss(),
    "contrastive_memory": lambda width: ContrastiveMemoryLoss(feature_dim=width, memory_size=64),
    "info_nce": lambda width: InfoNCELoss(),
    "multi_similarity": lambda width: MultiSimilarityLoss(),
    "supervised_contrastive": lambda width: SupervisedContrastiveLoss(),
    "triplet hard": lambda width: TripletLoss(),
    "triplet softmax_weighted": lambda width: TripletLoss(mining="softmax_weighted"),
    "triplet semi_hard": lambda width: TripletLoss(mining="semi_hard"),
    "triplet all": lambda width: TripletLoss(mining="all"),
}
ALL: dict[str, Build] = {
    **OVER_PAIRS,
    "proxy_anchor": lambda width: ProxyAnchorLoss(num_classes=4, feature_dim=width),
    "center": lambda width: CenterLoss(num_classes=4, feature_dim=width),
}
OF_SEVERAL_BRANCHES = [name for name in OVER_PAIRS if name != "contrastive_memory"]
OF_COSINES = [
    "circle",
    "cosface",
    "contrastive",
    "contrastive_memory",
    "info_nce",
    "multi_similarity",
    "supervised_contrastive",
    "proxy_anchor",
]


def build(name: str, width: int = 6) -> nn.Module:
    torch.manual_seed(0)
    return ALL[name](width)


def call(loss: nn.Module, features: Tensor, batch: Batch) -> Tensor:
    return loss(HeadOutput(features, {"global": features}), batch)


def random_features(seed: int = 0, rows: int = 16, width: int = 6) -> Tensor:
    return torch.randn(rows, width, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("name", OVER_PAIRS)
@pytest.mark.parametrize("pids", [[0, 1, 2, 3], [0, 0, 0, 0], [2]])
def test_a_batch_without_pairs_costs_nothing_and_is_counted(  # B076
    make_batch: MakeBatch, name: str, pids: list[int]
) -> None:
    loss, batch = build(name), make_batch(torch.tensor(pids))
    assert isinstance(loss, PairLoss)
    features = random_features(rows=len(pids)).requires_grad_()
    value = call(loss, features, batch)
    value.backward()
    assert value.item() == 0
    assert torch.equal(features.grad, torch.zeros_like(features))
    assert loss.metrics()[loss.counter].item() == 1
    assert all(torch.isfinite(metric) for metric in loss.metrics().values())


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("value", [6.0, 0.0])
def test_constant_features_under_autocast_are_finite(  # B074, B115
    make_batch: MakeBatch, name: str, value: float
) -> None:
    features = torch.full((16, 2048), value).bfloat16().requires_grad_()
    loss = build(name, width=2048)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        cost = call(loss, features, make_batch(PIDS))
    cost.backward()
    assert cost.dtype == torch.float32
    assert torch.isfinite(cost)
    assert torch.isfinite(features.grad).all()
    if name in OVER_PAIRS and value:
        # 1 − cosine has the rounding of 2048 products.
        metrics = loss.metrics()
        assert metrics["hardest_positive_distance"].item() == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_evaluated_in_float32(
    make_batch: MakeBatch, name: str, dtype: torch.dtype
) -> None:
    features, batch = (random_features() * 30).to(dtype), make_batch(PIDS)
    with torch.autocast("cpu", dtype=dtype):
        value = call(build(name), features, batch)
    assert value.dtype == torch.float32
    assert torch.equal(value, call(build(name), features.float(), batch))


@pytest.mark.parametrize("name", OF_COSINES)
@pytest.mark.parametrize("scale", [1e-4, 1e4])
def test_the_length_of_the_features_changes_nothing(  # B075
    make_batch: MakeBatch, name: str, scale: float
) -> None:
    features, batch = random_features(), make_batch(PIDS)
    values = [call(build(name), features * factor, batch) for factor in (1.0, scale)]
    torch.testing.assert_close(values[1], values[0])


@pytest.mark.parametrize("name", OVER_PAIRS)
def test_an_identity_of_one_repeated_image_trains_with_finite_gradients(
    make_batch: MakeBatch, name: str
) -> None:
    features = random_features(rows=8)
    features[:4] = features[0]
    features.requires_grad_()
    value = call(build(name), features, make_batch(torch.tensor([0, 0, 0, 0, 1, 1, 1, 1])))
    value.backward()
    assert torch.isfinite(value)
    assert torch.isfinite(features.grad).all()


@pytest.mark.parametrize("name", OF_SEVERAL_BRANCHES)
def test_the_loss_of_several_branches_is_their_mean(make_batch: MakeBatch, name: str) -> None:
    first, second, batch = random_features(0), random_features(1, width=9), make_batch(PIDS)
    loss = build(name)
    values = [call(loss, features, batch) for features in (first, second)]
    both = loss(HeadOutput(first, {"a": first, "b": second}), batch)
    torch.testing.assert_close(both, (values[0] + values[1]) / 2)


@pytest.mark.parametrize("name", [*OVER_PAIRS, "proxy_anchor"])
def test_the_metrics_are_detached_and_named_alike(make_batch: MakeBatch, name: str) -> None:
    loss = build(name)
    assert isinstance(loss, PairLoss)
    assert loss.metrics() == {}
    call(loss, random_features().requires_grad_(), make_batch(PIDS))
    metrics = loss.metrics()
    assert list(metrics) == [
        "valid_anchors",
        "active_fraction",
        "hardest_positive_distance",
        "hardest_negative_distance",
        loss.counter,
    ]
    assert not any(value.requires_grad for value in metrics.values())
    assert metrics["valid_anchors"].item() == 16
    assert 0 < metrics["active_fraction"].item() <= 1
    assert metrics[loss.counter].item() == 0


@pytest.mark.parametrize("name", ALL)
def test_features_that_are_not_numbers_are_not_hidden(make_batch: MakeBatch, name: str) -> None:
    features = random_features()
    features[3] = torch.nan
    assert call(build(name), features, make_batch(PIDS)).isnan()


@pytest.mark.parametrize("name", ALL)
def test_a_head_without_features_is_an_error(make_batch: MakeBatch, name: str) -> None:
    plain = name.split()[0]
    with pytest.raises(ConfigError, match=f"{plain}: the head gave no features.*such as bnneck"):
        build(name)(HeadOutput(torch.zeros(16, 6), {}), make_batch(PIDS))
