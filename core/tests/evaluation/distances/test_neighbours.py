"""Blocked nearest neighbours, beside a stable sort of the whole matrix."""

import numpy as np
import pytest
import torch

from reid_core.errors import DataError, UsageError
from reid_core.evaluation import pairwise_distance
from reid_core.evaluation.distances.neighbours import nearest_in_blocks, nearest_rows, smallest

RNG = np.random.default_rng(3)


@pytest.mark.parametrize(("num_columns", "k"), [(200, 21), (50, 50), (300, 1), (5000, 6), (1, 1)])
@pytest.mark.parametrize("num_values", [1, 5, 10_000])
def test_the_smallest_are_those_of_a_stable_sort(num_columns, k, num_values):
    block = RNG.integers(0, num_values, (30, num_columns)).astype(np.float32)
    values, columns = smallest(torch.from_numpy(block), k)
    expected = np.argsort(block, axis=1, kind="stable")[:, :k]
    assert np.array_equal(columns.numpy(), expected)
    assert np.array_equal(values.numpy(), np.take_along_axis(block, expected, axis=1))


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("block_size", [None, 1, 7, 40])
def test_neighbours_are_those_of_the_whole_matrix(metric, block_size):
    query, gallery = (torch.from_numpy(RNG.standard_normal((n, 16))).float() for n in (40, 90))
    found = nearest_rows(query, gallery, k=9, metric=metric, block_size=block_size)
    matrix = pairwise_distance(query, gallery, metric).numpy()
    assert np.array_equal(found.columns, np.argsort(matrix, axis=1, kind="stable")[:, :9])
    np.testing.assert_allclose(found.distances, np.sort(matrix, axis=1)[:, :9], atol=1e-6)
    np.testing.assert_allclose(found.farthest, matrix.max(axis=1), atol=1e-6)
    assert (found.columns.dtype, found.distances.dtype) == (np.int32, np.float32)


@pytest.mark.parametrize("num_values", [1, 4, 10_000])
def test_parts_of_the_columns_give_what_the_whole_gives(num_values):
    block = torch.from_numpy(RNG.integers(0, num_values, (30, 50)).astype(np.float32))
    whole, parted = (
        nearest_in_blocks(
            lambda start, stop, sizes=sizes: block[start:stop].split(sizes, dim=1),
            (30, 50),
            k=9,
            block_size=11,
        )
        for sizes in ([50], [1, 30, 19])
    )
    for name in ("columns", "distances", "farthest"):
        assert np.array_equal(getattr(whole, name), getattr(parted, name))


def test_no_block_is_larger_than_asked_for():
    sizes = []

    def block(start, stop):
        sizes.append(stop - start)
        return [torch.zeros(stop - start, 20)]

    nearest_in_blocks(block, (23, 20), k=3, block_size=5)
    assert sizes == [5, 5, 5, 5, 3]


@pytest.mark.parametrize("k", [0, 5])
def test_more_neighbours_than_rows_are_refused(k):
    with pytest.raises(UsageError, match=rf"k is {k}; expected 1 to 4, the rows to choose from"):
        nearest_rows(torch.ones(2, 3), torch.ones(4, 3), k=k)


def test_features_of_two_widths_are_refused():
    with pytest.raises(DataError, match=r"query features \(2, 3\) with gallery features \(4, 5\)"):
        nearest_rows(torch.ones(2, 3), torch.ones(4, 5), k=1)
