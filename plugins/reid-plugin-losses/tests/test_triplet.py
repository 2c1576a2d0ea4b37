import math
from collections.abc import Callable, Mapping
from typing import Literal, cast, get_args

import pytest
import torch
from torch import Tensor

from reid_core.contracts import Batch, HeadOutput
from reid_core.errors import ConfigError
from reid_plugin_losses.distance import DistanceName, all_pairs
from reid_plugin_losses.triplet import Convention, MiningName, TripletLoss

MakeBatch = Callable[[Tensor], Batch]
Margin = float | Literal["soft"]

PIDS = torch.arange(4).repeat_interleave(4)


def output(*features: Tensor) -> HeadOutput:
    named = {f"branch{i}": values for i, values in enumerate(features)}
    return HeadOutput(embedding=features[0], features=named)


def random_features(seed: int, rows: int = 16, width: int = 6) -> Tensor:
    return torch.randn(rows, width, generator=torch.Generator().manual_seed(seed)).double()


def gradient(loss: TripletLoss, features: Tensor, batch: Batch) -> Tensor:
    leaf = features.detach().clone().requires_grad_()
    loss(output(leaf), batch).backward()
    assert leaf.grad is not None
    return leaf.grad


def plain_loops(
    features: Tensor, pids: Tensor, margin: Margin, distance: DistanceName, normalize: bool
) -> float:
    rows, labels = features.tolist(), pids.tolist()
    if normalize:
        rows = [[value / math.hypot(*row) for value in row] for row in rows]
    costs = []
    for i, label in enumerate(labels):
        power = 2 if distance == "squared_euclidean" else 1
        measured = [math.dist(rows[i], row) ** power for row in rows]
        positives = [d for j, d in enumerate(measured) if labels[j] == label and j != i]
        negatives = [d for j, d in enumerate(measured) if labels[j] != label]
        if positives and negatives:
            excess = max(positives) - min(negatives)
            soft = margin == "soft"
            costs.append(math.log1p(math.exp(excess)) if soft else max(0.0, excess + float(margin)))
    return sum(costs) / len(costs)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("margin", [0.0, 0.3])
def test_reference_values_and_gradients_are_reproduced(
    golden: Mapping[str, Tensor], make_batch: MakeBatch, margin: float, normalize: bool
) -> None:
    key = f"triplet/norm={normalize}/hard=True/margin={margin}"
    loss = TripletLoss(
        margin=margin or "soft",
        distance="squared_euclidean" if normalize else "euclidean",
        normalize=normalize,
    )
    batch = make_batch(golden["labels"])
    value = loss(output(golden["features"]), batch)
    torch.testing.assert_close(value, golden[key], rtol=1e-4, atol=0.0)
    found = gradient(loss, golden["features"], batch)
    torch.testing.assert_close(found, golden[f"{key}.grad"], rtol=1e-4, atol=1e-7)


def mined(features: Tensor, pids: list[int], mining: MiningName) -> list[tuple[Tensor, Tensor]]:
    """Return the (d_p, d_n) that are compared, by plain loops."""
    found = []
    for i, pid in enumerate(pids):
        distances = [(features[i] - other).norm() for other in features]
        positives = [d for j, d in enumerate(distances) if pids[j] == pid and j != i]
        negatives = [d for j, d in enumerate(distances) if pids[j] != pid]
        if not positives or not negatives:
            continue
        if mining == "hard":
            found.append((max(positives), min(negatives)))
        elif mining == "softmax_weighted":
            near, far = [d.exp() for d in positives], [(-d).exp() for d in negatives]
            found.append(
                (
                    sum(w * d for w, d in zip(near, positives, strict=True)) / sum(near),
                    sum(w * d for w, d in zip(far, negatives, strict=True)) / sum(far),
                )
            )
        elif mining == "semi_hard":
            for positive in positives:
                farther = [d for d in negatives if d > positive]
                found.append((positive, min(farther) if farther else max(negatives)))
        else:
            found += [(positive, negative) for positive in positives for negative in negatives]
    return found


@pytest.mark.parametrize("mining", get_args(MiningName))
@pytest.mark.parametrize("margin", [0.3, 2.0, "soft"])
def test_every_mining_costs_what_plain_loops_say(
    agrees_with_loops, mining: MiningName, margin: Margin
) -> None:
    def reference(features: Tensor, pids: list[int]) -> Tensor:
        costs = []
        for positive, negative in mined(features, pids, mining):
            excess = positive - negative
            if margin == "soft":
                costs.append((1 + excess.exp()).log())
            else:
                costs.append((excess + float(margin)).clamp(min=0))
        if mining == "all_nonzero":
            costs = [cost for cost in costs if cost > 0]
        return torch.stack(costs).mean()

    agrees_with_loops(TripletLoss(margin=margin, mining=mining), reference)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("margin", [0.0, 0.3])
@pytest.mark.parametrize("mining", ["hard", "softmax_weighted"])
def test_the_fastreid_convention_reproduces_the_reference(
    reproduces, mining: MiningName, margin: float, normalize: bool
) -> None:
    loss = TripletLoss(
        margin=margin or "soft",
        mining=mining,
        distance="squared_euclidean" if normalize else "euclidean",
        normalize=normalize,
        convention="fastreid",
    )
    reproduces(loss, f"triplet/norm={normalize}/hard={mining == 'hard'}/margin={margin}")


@pytest.mark.parametrize("mining", ["hard", "softmax_weighted"])
@pytest.mark.parametrize("scale", [0.1, 1.0, 20.0])
def test_the_fastreid_convention_counts_every_row_and_the_row_itself(
    agrees_with_loops, mining: MiningName, scale: float
) -> None:
    def weighted_mean(distances: list[Tensor], sign: int, shift: float) -> Tensor:
        weights = [(sign * d - shift).exp() for d in distances]
        total = sum(weights) + 1e-6
        return sum(w * d for w, d in zip(weights, distances, strict=True)) / total

    def reference(features: Tensor, pids: list[int]) -> Tensor:
        costs = []
        for i, pid in enumerate(pids):
            distances = [
                (features[i] - other).norm() * scale if j != i else features.new_zeros(())
                for j, other in enumerate(features)
            ]
            positives = [d for j, d in enumerate(distances) if pids[j] == pid]
            negatives = [d for j, d in enumerate(distances) if pids[j] != pid]
            if mining == "hard":
                positive = max(positives)
                negative = min(negatives) if negatives else features.new_full((), 1e9)
            else:
                positive = weighted_mean(positives, 1, max(d.item() for d in positives))
                negative = weighted_mean(negatives, -1, 0.0)
            costs.append((positive - negative + 0.3).clamp(min=0))
        return torch.stack(costs).mean()

    class Scaled(torch.nn.Module):
        def forward(self, given: HeadOutput, batch: Batch) -> Tensor:
            loss = TripletLoss(mining=mining, convention="fastreid")
            return loss(output(given.features["global"] * scale), batch)

    agrees_with_loops(Scaled(), reference)


@pytest.mark.parametrize(("mining", "expected"), [("hard", 0.0), ("softmax_weighted", 2.3)])
def test_without_negatives_the_conventions_differ(
    make_batch: MakeBatch, mining: MiningName, expected: float
) -> None:
    features, batch = torch.tensor([[0.0], [2.0]]), make_batch(torch.tensor([0, 0]))
    conventions: tuple[Convention, ...] = ("paper", "fastreid")
    paper, fastreid = (
        TripletLoss(mining=mining, convention=one)(output(features), batch).item()
        for one in conventions
    )
    assert paper == 0
    # Softmax weights of 2 and 0: d_p is 2 · e² / (e² + 1).
    scale = math.exp(2) / (math.exp(2) + 1) if mining == "softmax_weighted" else 1
    assert fastreid == pytest.approx(max(0.0, (expected - 0.3) * scale + 0.3 if expected else 0.0))


@pytest.mark.parametrize("mining", ["semi_hard", "all", "all_nonzero"])
def test_fastreid_has_no_convention_for_other_minings(mining: MiningName) -> None:
    with pytest.raises(
        ConfigError, match=f"got fastreid with mining {mining}, which FastReID does"
    ):
        TripletLoss(mining=mining, convention="fastreid")


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("distance", get_args(DistanceName))
@pytest.mark.parametrize("margin", [0.3, 2.0, "soft"])
def test_random_batches_cost_what_plain_loops_say(
    make_batch: MakeBatch, margin: Margin, distance: DistanceName, normalize: bool
) -> None:
    loss = TripletLoss(margin=margin, distance=distance, normalize=normalize)
    for seed in range(5):
        features = random_features(seed)
        pids = torch.randint(5, (16,), generator=torch.Generator().manual_seed(seed))
        value = loss(output(features), make_batch(pids)).item()
        expected = plain_loops(features, pids, margin, distance, normalize)
        # torch's softplus takes log(1 + exp(x)) for x from 20 on, 2e-9 less.
        assert value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("margin", [0.3, "soft"])
@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_rows_changes_nothing(
    make_batch: MakeBatch, seed: int, margin: Margin
) -> None:
    loss, features = TripletLoss(margin=margin), random_features(seed)
    order = torch.randperm(16, generator=torch.Generator().manual_seed(seed))
    torch.testing.assert_close(
        loss(output(features[order]), make_batch(PIDS[order])),
        loss(output(features), make_batch(PIDS)),
    )
    torch.testing.assert_close(
        gradient(loss, features[order], make_batch(PIDS[order])),
        gradient(loss, features, make_batch(PIDS))[order],
    )


def test_the_names_of_identities_change_nothing(make_batch: MakeBatch) -> None:
    loss, features = TripletLoss(), random_features(0)
    renamed = torch.tensor([900, 3, 41, 7])[PIDS]
    assert torch.equal(
        loss(output(features), make_batch(renamed)), loss(output(features), make_batch(PIDS))
    )


@pytest.mark.parametrize(("margin", "expected"), [(0.3, 0.3), ("soft", 0.693147)])
@pytest.mark.parametrize("distance", get_args(DistanceName))
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("mining", get_args(MiningName))
def test_embeddings_at_one_point_cost_the_margin_and_have_a_finite_gradient(  # B074
    make_batch: MakeBatch,
    mining: MiningName,
    margin: Margin,
    expected: float,
    distance: DistanceName,
    normalize: bool,
) -> None:
    loss = TripletLoss(margin=margin, mining=mining, distance=distance, normalize=normalize)
    for features in (torch.full((16, 4), 0.7), torch.zeros(16, 4)):
        value = loss(output(features), make_batch(PIDS)).item()
        assert value == pytest.approx(expected, abs=1e-6)
        assert torch.isfinite(gradient(loss, features, make_batch(PIDS))).all()


@pytest.mark.parametrize("distance", get_args(DistanceName))
def test_an_identity_of_one_repeated_image_trains_with_finite_gradients(
    make_batch: MakeBatch, distance: DistanceName
) -> None:
    features = random_features(0, rows=8).float()
    features[:4] = features[0]
    loss = TripletLoss(margin=10.0, distance=distance)
    batch = make_batch(torch.tensor([0, 0, 0, 0, 1, 1, 1, 1]))
    found = gradient(loss, features, batch)
    assert torch.isfinite(found).all()
    assert found[:4].abs().sum() > 0
    value = loss(output(features), batch).item()
    expected = plain_loops(features.double(), batch.pids, 10.0, distance, normalize=False)
    assert value == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("margin", [0.3, "soft"])
@pytest.mark.parametrize("pids", [[0, 1, 2, 3], [0, 0, 0, 0]])
@pytest.mark.parametrize("mining", get_args(MiningName))
def test_a_batch_without_a_triplet_costs_nothing_and_is_counted(  # B076
    make_batch: MakeBatch, mining: MiningName, pids: list[int], margin: Margin
) -> None:
    loss = TripletLoss(margin=margin, mining=mining)
    batch = make_batch(torch.tensor(pids))
    features = random_features(0, rows=4).float().requires_grad_()
    value = loss(output(features), batch)
    value.backward()
    assert value.item() == 0.0
    assert features.grad is not None
    assert torch.equal(features.grad, torch.zeros(4, 6))
    loss(output(features), batch)
    metrics = loss.metrics()
    assert metrics["valid_anchors"].item() == 0
    assert metrics["active_fraction"].item() == 0
    assert metrics["batches_without_triplet"].item() == 2
    loss(output(random_features(0)), make_batch(PIDS))
    assert loss.metrics()["batches_without_triplet"].item() == 2


def test_rows_without_a_positive_do_not_count(make_batch: MakeBatch) -> None:
    features = torch.tensor([[0.0], [1.0], [3.0], [7.0]])
    loss = TripletLoss(margin=0.5)
    value = loss(output(features), make_batch(torch.tensor([0, 0, 1, 2])))
    # Anchor 0 has d_p 1 and d_n 3; anchor 1 has d_p 1 and d_n 2: both keep the margin.
    assert value.item() == 0.0
    value = TripletLoss(margin=1.5)(output(features), make_batch(torch.tensor([0, 0, 1, 2])))
    assert value.item() == pytest.approx((0.0 + 0.5) / 2)


def test_metrics_describe_the_last_batch(make_batch: MakeBatch) -> None:
    features = torch.tensor([[0.0], [1.0], [3.0], [7.0]], requires_grad=True)
    loss = TripletLoss(margin=1.5)
    assert loss.metrics() == {}
    loss(output(features), make_batch(torch.tensor([0, 0, 1, 2])))
    metrics = loss.metrics()
    assert {name: value.item() for name, value in metrics.items()} == {
        "valid_anchors": 2.0,
        "active_fraction": 0.5,
        "hardest_positive_distance": 1.0,
        "hardest_negative_distance": 2.5,
        "batches_without_triplet": 0.0,
    }
    assert not any(value.requires_grad for value in metrics.values())


def test_several_branches_are_averaged_in_loss_and_metrics(make_batch: MakeBatch) -> None:
    first, second = random_features(0), random_features(1, width=9)
    loss, batch = TripletLoss(), make_batch(PIDS)
    values, distances = [], []
    for features in (first, second):
        values.append(loss(output(features), batch))
        distances.append(loss.metrics()["hardest_positive_distance"])
    torch.testing.assert_close(loss(output(first, second), batch), (values[0] + values[1]) / 2)
    found = loss.metrics()["hardest_positive_distance"]
    torch.testing.assert_close(found, (distances[0] + distances[1]) / 2)


def test_bfloat16_features_under_autocast_are_evaluated_in_float32(make_batch: MakeBatch) -> None:
    features = random_features(0).bfloat16().requires_grad_()
    loss, batch = TripletLoss(), make_batch(PIDS)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        value = loss(output(features), batch)
    value.backward()
    assert value.dtype == torch.float32
    torch.testing.assert_close(value, loss(output(features.float()), batch))
    assert features.grad is not None
    assert torch.isfinite(features.grad).all()


def test_autocast_is_off_while_distances_are_computed(
    make_batch: MakeBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def record(features: Tensor) -> Tensor:
        seen.append(torch.is_autocast_enabled("cpu"))
        return all_pairs(features)

    monkeypatch.setattr("reid_plugin_losses.triplet.all_pairs", record)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        TripletLoss()(output(random_features(0)), make_batch(PIDS))
    assert seen == [False]


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("distance", get_args(DistanceName))
@pytest.mark.parametrize("margin", [5.0, "soft"])
def test_gradients_are_right(
    make_batch: MakeBatch, margin: Margin, distance: DistanceName, normalize: bool
) -> None:
    loss = TripletLoss(margin=margin, distance=distance, normalize=normalize)
    batch = make_batch(torch.tensor([0, 0, 1, 1, 2, 2]))
    features = random_features(3, rows=6, width=3).requires_grad_()
    assert torch.autograd.gradcheck(lambda values: loss(output(values), batch), (features,))


def test_features_that_are_not_numbers_are_not_hidden(make_batch: MakeBatch) -> None:
    features = random_features(0)
    features[3] = torch.nan
    assert TripletLoss()(output(features), make_batch(PIDS)).isnan()


def test_a_head_without_features_is_an_error(make_batch: MakeBatch) -> None:
    without = HeadOutput(embedding=torch.zeros(16, 4), features={})
    with pytest.raises(ConfigError, match=r"triplet: the head gave no features.*such as bnneck"):
        TripletLoss()(without, make_batch(PIDS))


@pytest.mark.parametrize("margin", [0.0, -0.3, float("nan"), float("inf"), "hard"])
def test_a_margin_out_of_range_is_an_error_that_names_the_soft_one(margin: float) -> None:
    with pytest.raises(ConfigError, match=r"margin: got .*above 0.*margin 0 is margin: soft here"):
        TripletLoss(margin=margin)


def test_unknown_choices_are_errors() -> None:
    with pytest.raises(ConfigError, match="triplet: distance: got 'cosine', expected one of"):
        TripletLoss(distance=cast("DistanceName", "cosine"))
    with pytest.raises(
        ConfigError, match=r"triplet: mining: got 'semihard'.*did you mean semi_hard"
    ):
        TripletLoss(mining=cast("MiningName", "semihard"))
    with pytest.raises(ConfigError, match="triplet: convention: got 'agw', expected one of"):
        TripletLoss(convention=cast("Convention", "agw"))
