import math
from typing import get_args

import pytest
import torch

from reid_plugin_losses.distance import (
    DistanceName,
    all_pairs,
    cosine_matrix,
    pair_matrix,
    row_pairs,
    rows_of,
    unit_length,
)


def test_all_pairs_equal_plain_loops() -> None:
    features = torch.randn(6, 5, generator=torch.Generator().manual_seed(0)).double()
    distances = all_pairs(features)
    rows = features.tolist()
    for i in range(6):
        for j in range(6):
            assert distances[i, j].item() == pytest.approx(math.dist(rows[i], rows[j]), abs=1e-12)


@pytest.mark.parametrize("measure", [all_pairs, lambda rows: pair_matrix(rows, "euclidean")])
def test_small_distances_far_from_the_origin_are_kept(measure) -> None:
    # 32 rows: torch takes the cancelling formula only above 25.
    steps = torch.arange(32) / 4
    distances = measure(torch.stack([torch.full((32,), 1000.0), 1000.0 + steps], dim=1))
    assert torch.equal(distances, (steps.unsqueeze(0) - steps.unsqueeze(1)).abs())


def test_row_pairs_measure_both_distances() -> None:
    first, second = torch.tensor([[3.0, 0.0]]), torch.tensor([[0.0, 4.0]])
    assert row_pairs(first, second, "euclidean").tolist() == [5.0]
    assert row_pairs(first, second, "squared_euclidean").tolist() == [25.0]


@pytest.mark.parametrize("name", get_args(DistanceName))
def test_equal_rows_have_distance_and_gradient_zero(name: DistanceName) -> None:
    features = torch.ones(2, 3, requires_grad=True)
    distances = row_pairs(features, torch.ones(2, 3), name)
    (gradient,) = torch.autograd.grad(distances.sum(), features)
    assert distances.tolist() == [0.0, 0.0]
    assert torch.equal(gradient, torch.zeros(2, 3))


@pytest.mark.parametrize("name", get_args(DistanceName))
def test_the_matrix_of_all_rows_has_the_values_and_gradients_of_plain_loops(
    name: DistanceName,
) -> None:
    generator = torch.Generator().manual_seed(0)
    given = torch.randn(6, 5, generator=generator).double()
    given[4] = given[1]  # distance 0 off the diagonal
    weights = torch.randn(6, 6, generator=generator).double()
    ours, theirs = (given.clone().requires_grad_() for _ in range(2))
    matrix = pair_matrix(ours, name)
    total = theirs.new_zeros(())
    for i in range(6):
        for j in range(6):
            square = (theirs[i] - theirs[j]).square().sum()
            if square > 0:
                value = square.sqrt() if name == "euclidean" else square
                assert matrix[i, j].item() == pytest.approx(value.item())
                total = total + weights[i, j] * value
            else:
                assert matrix[i, j].item() == 0
    (found,) = torch.autograd.grad((matrix * weights).sum(), ours)
    (wanted,) = torch.autograd.grad(total, theirs)
    torch.testing.assert_close(found, wanted)


def test_constant_features_have_distance_0_to_themselves_under_autocast() -> None:  # B115
    features = torch.full((32, 2048), 6.0, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(pair_matrix(features, "euclidean"), torch.zeros(32, 32))
        assert torch.equal(all_pairs(features), torch.zeros(32, 32))


def test_the_cosine_does_not_depend_on_the_length() -> None:
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(6, 5, generator=generator).double()
    cosines = cosine_matrix(features * torch.rand(6, 1, generator=generator))
    for i in range(6):
        for j in range(6):
            expected = torch.nn.functional.cosine_similarity(features[i], features[j], dim=0)
            torch.testing.assert_close(cosines[i, j], expected)
    assert cosine_matrix(torch.zeros(2, 3)).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_squares_of_unit_rows_are_two_minus_two_cosines() -> None:
    generator = torch.Generator().manual_seed(0)
    first, second = torch.randn(2, 7, 5, generator=generator).double()
    cosines = torch.nn.functional.cosine_similarity(first, second)
    squares = row_pairs(unit_length(first), unit_length(second), "squared_euclidean")
    torch.testing.assert_close(squares, 2 - 2 * cosines)


def test_a_row_of_zeros_stays_and_gets_no_gradient() -> None:
    features = torch.tensor([[0.0, 0.0], [3.0, 4.0]], requires_grad=True)
    units = unit_length(features)
    (gradient,) = torch.autograd.grad((units * torch.tensor([1.0, 2.0])).sum(), features)
    torch.testing.assert_close(units.detach(), torch.tensor([[0.0, 0.0], [0.6, 0.8]]))
    assert gradient[0].tolist() == [0.0, 0.0]
    assert gradient[1].abs().sum() > 0


def test_gradients_of_unit_length_are_right() -> None:
    features = torch.randn(3, 4, generator=torch.Generator().manual_seed(0)).double()
    assert torch.autograd.gradcheck(unit_length, (features.requires_grad_(),))


def test_the_gradient_of_rows_picked_several_times_is_the_same_in_every_run():
    generator = torch.Generator().manual_seed(0)
    rows = torch.randint(0, 4, (256,), generator=generator)
    weights = torch.randn(256, 512, generator=generator)

    def gradient(pick):
        features = torch.zeros(64, 512, requires_grad=True)
        (pick(features, rows) * weights).sum().backward()
        return features.grad

    threads = torch.get_num_threads()
    torch.set_num_threads(2)  # with one, any way of summing has one order
    try:
        first = gradient(rows_of)
        assert all(torch.equal(first, gradient(rows_of)) for _ in range(50))
    finally:
        torch.set_num_threads(threads)
    expected = torch.zeros(64, 512, dtype=torch.float64).index_add(0, rows, weights.double())
    torch.testing.assert_close(first.double(), expected, rtol=1e-5, atol=1e-5)
