import pytest
import torch

from reid_plugin_losses.pair_statistics import describe
from reid_plugin_losses.pairs import pairs_of

PIDS = torch.tensor([3, 3, 5, 3])


def test_pairs_are_other_rows_of_the_identity_and_rows_of_others() -> None:
    pairs = pairs_of(PIDS)
    for i in range(4):
        for j in range(4):
            assert pairs.positive[i, j] == (PIDS[i] == PIDS[j] and i != j)
            assert pairs.negative[i, j] == (PIDS[i] != PIDS[j])


def test_an_anchor_is_complete_with_a_positive_and_a_negative() -> None:
    pairs = pairs_of(PIDS)
    assert pairs.has_both.tolist() == [True, True, False, True]
    complete = pairs.of_complete_anchors()
    assert complete.negative.tolist() == [
        [False, False, True, False],
        [False, False, True, False],
        [False, False, False, False],
        [False, False, True, False],
    ]
    assert torch.equal(complete.positive, pairs.positive)


def test_the_hardest_pairs_are_described() -> None:
    distances = torch.tensor(
        [[0.0, 1.0, 5.0, 2.0], [1.0, 0.0, 4.0, 3.0], [5.0, 4.0, 0.0, 2.5], [2.0, 3.0, 2.5, 0.0]]
    )
    found = describe(distances, pairs_of(PIDS))
    assert found.valid_anchors.item() == 3
    assert found.hardest_positive_distance.item() == pytest.approx((2 + 3 + 3) / 3)
    assert found.hardest_negative_distance.item() == pytest.approx((5 + 4 + 2.5) / 3)
    assert found.active_fraction.item() == pytest.approx(1 / 3)  # the last one


def test_without_pairs_all_is_0() -> None:
    found = describe(torch.rand(4, 4), pairs_of(torch.arange(4)))
    assert found.valid_anchors.item() == 0
    assert found.active_fraction.item() == 0
    assert found.hardest_positive_distance.item() == 0
    assert found.hardest_negative_distance.item() == 0
