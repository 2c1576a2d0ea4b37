import pytest
import torch
from torch import Tensor

from reid_core.errors import ConfigError
from reid_plugin_heads.models.token_groups import local_groups, shift_and_shuffle


def numbered(count: int, batch: int = 2) -> Tensor:
    """Return tokens (B, N, 3) that carry their image and their number, from 1, as p1 … pN."""
    images = torch.arange(batch).float()[:, None].expand(batch, count)
    numbers = torch.arange(1, count + 1).float().expand(batch, count)
    return torch.stack([images, numbers, -numbers], dim=2)


def order_by_hand(count: int, shift: int, groups: int) -> list[int]:
    """Rearrange [cls, p1 … pN] one token at a time; return the numbers that come out."""
    with_class_token = list(range(count + 1))
    sequence = [with_class_token[place] for place in range(shift, count + 1)]
    sequence += [with_class_token[place] for place in range(1, shift)]
    last_but_one = sequence[-2]
    while len(sequence) % groups:
        sequence.append(last_but_one)
    length = len(sequence) // groups
    return [sequence[row * length + column] for column in range(length) for row in range(groups)]


@pytest.mark.parametrize("count", [7, 8, 21, 32, 210])
@pytest.mark.parametrize("shift", [1, 2, 5, 7])
@pytest.mark.parametrize("groups", [1, 2, 3])
def test_tokens_come_in_the_order_of_the_loop(count: int, shift: int, groups: int) -> None:
    shuffled = shift_and_shuffle(numbered(count), shift=shift, groups=groups)
    assert shuffled[1, :, 1].int().tolist() == order_by_hand(count, shift, groups)
    assert shuffled[:, :, 0].tolist() == [[0.0] * shuffled.shape[1], [1.0] * shuffled.shape[1]]
    torch.testing.assert_close(shuffled[:, :, 2], -shuffled[:, :, 1])


def test_an_odd_number_of_patches_repeats_the_last_but_one() -> None:
    # 1 2 3 4 5 6 7, shifted by 3 places with the class token: 3 4 5 6 7 1 2, then 1 again.
    shuffled = shift_and_shuffle(numbered(7), shift=3, groups=2)
    assert shuffled[0, :, 1].int().tolist() == [3, 7, 4, 1, 5, 2, 6, 1]


def test_a_shift_of_five_moves_four_patches_to_the_end() -> None:
    shifted = shift_and_shuffle(numbered(10), shift=5, groups=1)
    assert shifted[0, :, 1].int().tolist() == [5, 6, 7, 8, 9, 10, 1, 2, 3, 4]


def test_shift_one_and_one_row_change_nothing() -> None:
    assert torch.equal(shift_and_shuffle(numbered(9), shift=1, groups=1), numbered(9))


@pytest.mark.parametrize(("count", "length"), [(210, 52), (211, 52), (128, 32), (441, 110), (8, 2)])
def test_groups_are_consecutive_and_a_quarter_of_the_patches_long(count: int, length: int) -> None:
    groups = local_groups(numbered(count), shift=5, shuffle_groups=2, parts=4)
    numbers = [number for group in groups for number in group[0, :, 1].int().tolist()]
    assert [group.shape for group in groups] == [(2, length, 3)] * 4
    assert numbers == order_by_hand(count, 5, 2)[: 4 * length]


@pytest.mark.parametrize(("count", "shift", "parts"), [(4, 5, 4), (3, 1, 4), (1, 1, 1)])
def test_too_few_patches_are_an_error(count: int, shift: int, parts: int) -> None:
    with pytest.raises(ConfigError, match=rf"gives {count} patch tokens; .* need at least"):
        local_groups(numbered(count), shift=shift, shuffle_groups=2, parts=parts)
