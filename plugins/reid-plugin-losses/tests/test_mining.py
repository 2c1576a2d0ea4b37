import pytest
import torch

from reid_plugin_losses.distance import all_pairs
from reid_plugin_losses.mining import batch_hard

PIDS = torch.arange(4).repeat_interleave(4)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("seed", range(5))
def test_pairs_equal_plain_loops_at_any_scale(seed: int, scale: float) -> None:
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
