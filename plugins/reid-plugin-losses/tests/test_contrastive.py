from collections.abc import Callable
from typing import Literal, cast, get_args

import pytest
import torch
from torch import Tensor

from reid_core.contracts import Batch, HeadOutput
from reid_core.errors import ConfigError
from reid_plugin_losses.contrastive import ContrastiveLoss
from reid_plugin_losses.distance import DistanceName


def plain_loops(
    near: float, far: float, power: int, distance: DistanceName, normalize: bool
) -> Callable[[Tensor, list[int]], Tensor]:
    def reference(features: Tensor, pids: list[int]) -> Tensor:
        rows = [row / row.norm() if normalize else row for row in features]
        positives, negatives = [], []
        for i, pid in enumerate(pids):
            if pids.count(pid) == 1 or len(set(pids)) == 1:
                continue
            for j, other in enumerate(rows):
                if i == j:
                    continue
                d = (rows[i] - other).norm()
                d = d if distance == "euclidean" else d * d
                if pids[j] == pid and d > near:
                    positives.append((d - near) ** power)
                if pids[j] != pid and d < far:
                    negatives.append((far - d) ** power)
        total = (features * 0).sum()
        for costs in (positives, negatives):
            total = total + (sum(costs) / len(costs) if costs else 0)
        return total

    return reference


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("distance", get_args(DistanceName))
@pytest.mark.parametrize(("near", "far", "normalize"), [(0.0, 1.0, True), (1.0, 2.5, False)])
def test_random_batches_cost_what_plain_loops_say(
    agrees_with_loops, power, distance: DistanceName, near: float, far: float, normalize: bool
) -> None:
    loss = ContrastiveLoss(
        positive_margin=near,
        negative_margin=far,
        power=power,
        distance=distance,
        normalize=normalize,
    )
    agrees_with_loops(loss, plain_loops(near, far, power, distance, normalize))


def test_active_is_the_share_of_pairs_that_cost_something(
    make_batch: Callable[[Tensor], Batch],
) -> None:
    features = torch.tensor([[0.0], [0.4], [0.9], [3.0]])
    loss = ContrastiveLoss(positive_margin=1.0, negative_margin=2.0, normalize=False)
    loss(HeadOutput(features, {"global": features}), make_batch(torch.tensor([0, 0, 1, 1])))
    # Positives 0.4 and 2.1, the second too far; negatives 0.9 and 0.5 too near, 3.0 and 2.6 not.
    assert loss.metrics()["active_fraction"].item() == 0.5


def test_parameters_out_of_range_are_errors() -> None:
    with pytest.raises(ConfigError, match="contrastive: positive_margin: got -1, expected at leas"):
        ContrastiveLoss(positive_margin=-1)
    with pytest.raises(ConfigError, match=r"contrastive: negative_margin: got 0\.2.*above 0\.5"):
        ContrastiveLoss(positive_margin=0.5, negative_margin=0.2)
    with pytest.raises(ConfigError, match="contrastive: power: got 3, expected 1 or 2"):
        ContrastiveLoss(power=cast("Literal[1]", 3))
    with pytest.raises(ConfigError, match="contrastive: distance: got 'cosine', expected one of"):
        ContrastiveLoss(distance=cast("DistanceName", "cosine"))
