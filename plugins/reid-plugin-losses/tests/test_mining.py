import pytest
import torch

from reid_plugin_losses.distance import all_pairs
from reid_plugin_losses.mining import batch_hard, semi_hard_negatives
from reid_plugin_losses.pairs import pairs_of

PIDS = torch.arange(4).repeat_interleave(4)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("seed", range(5))
def test_pairs_equal_plain_loops_at_any_scale(seed: int, scale: float) -> None:  # B075
    generator = torch.Generator().manual_seed(seed)
    distances = all_pairs(torch.randn(16, 8, generator=generator) * scale)
    pids = PIDS[torch.randperm(16, generator=generator)]
    mined = batch_hard(distances, pids)
    assert mined.is_valid.all()
    for anchor in range(16):
        same = [j for j in range(16) if pids[j] == pids[anchor] and j != anchor]
        other = [j for j in range(16) if pids[j] != pids[anchor]]
        assert mined.positives[anchor] == max(same, key=lambda j: distances[anchor, j].item())
        assert mined.negatives[anchor] == min(other, key=lambda j: distances[anchor, j].item())


def test_the_positive_is_another_row_even_when_all_are_equal() -> None:
    mined = batch_hard(torch.zeros(16, 16), PIDS)
    assert (mined.positives != torch.arange(16)).all()
    assert torch.equal(PIDS[mined.positives], PIDS)
    assert (PIDS[mined.negatives] != PIDS).all()


@pytest.mark.parametrize(
    ("pids", "is_valid"),
    [
        ([0, 1, 2, 3], [False] * 4),
        ([5, 5, 5, 5], [False] * 4),
        ([0, 0, 1, 2], [True, True, False, False]),
        ([7], [False]),
    ],
)
def test_rows_without_a_positive_or_a_negative_are_not_valid(
    pids: list[int], is_valid: list[bool]
) -> None:
    labels = torch.tensor(pids)
    distances = torch.rand(len(labels), len(labels))
    assert batch_hard(distances, labels).is_valid.tolist() == is_valid


@pytest.mark.parametrize("seed", range(5))
def test_the_scale_of_the_features_changes_no_choice(seed: int) -> None:  # B075
    features = torch.randn(16, 8, generator=torch.Generator().manual_seed(seed))
    chosen = [batch_hard(all_pairs(features * scale), PIDS) for scale in (1e-4, 1.0, 1e4)]
    for mined in (chosen[0], chosen[2]):
        assert torch.equal(mined.positives, chosen[1].positives)
        assert torch.equal(mined.negatives, chosen[1].negatives)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("seed", range(5))
def test_semi_hard_negatives_equal_plain_loops_at_any_scale(seed: int, scale: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    distances = all_pairs(torch.randn(16, 8, generator=generator) * scale)
    pids = torch.randint(5, (16,), generator=generator)
    pairs = pairs_of(pids)
    found = semi_hard_negatives(distances, pairs)
    for anchor in range(16):
        other = [j for j in range(16) if pids[j] != pids[anchor]]
        for positive in range(16):
            if pids[positive] != pids[anchor]:
                continue
            by_distance = sorted(other, key=lambda j: distances[anchor, j].item())
            farther = [j for j in by_distance if distances[anchor, j] > distances[anchor, positive]]
            assert found[anchor, positive] == (farther or by_distance[-1:])[0]


def test_a_negative_as_near_as_the_positive_is_not_semi_hard() -> None:
    distances = torch.tensor([[0.0, 2.0, 2.0, 3.0]]).repeat(4, 1)
    found = semi_hard_negatives(distances, pairs_of(torch.tensor([0, 0, 1, 1])))
    assert found[0, 1] == 3


def test_without_negatives_the_choice_stays_in_range() -> None:
    found = semi_hard_negatives(torch.rand(3, 3), pairs_of(torch.zeros(3, dtype=torch.int64)))
    assert ((found >= 0) & (found < 3)).all()
