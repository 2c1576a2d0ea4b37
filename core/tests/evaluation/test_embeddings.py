import numpy as np
import pytest
import torch

from reid_core.errors import DataError
from reid_core.evaluation import Embeddings, Labels

ONES = np.ones(3, dtype=np.int64)


def test_identities_may_be_arrays_or_tensors():
    array = Embeddings(torch.zeros(3, 2), np.array([3, 1, 2]), np.array([0, 1, 0]))
    tensor = Embeddings(torch.zeros(3, 2), torch.tensor([3, 1, 2]), torch.tensor([0, 1, 0]))
    for embeddings in (array, tensor):
        assert embeddings.labels.pids.dtype == np.int64
        assert embeddings.labels.pids.tolist() == [3, 1, 2]
        assert embeddings.labels.camids.tolist() == [0, 1, 0]
        assert len(embeddings) == 3


@pytest.mark.parametrize("dtype", [np.int32, np.uint8])
def test_other_integer_types_become_int64(dtype):
    labels = Labels(np.array([1, 2], dtype=dtype), np.array([0, 0], dtype=dtype))
    assert labels.pids.dtype == labels.camids.dtype == np.int64


def test_a_block_of_labels_holds_its_rows():
    block = Labels(np.array([5, 6, 7, 8]), np.array([0, 1, 2, 3])).block(1, 3)
    assert block.pids.tolist() == [6, 7]
    assert block.camids.tolist() == [1, 2]


@pytest.mark.parametrize(
    "pids",
    [
        np.array(["id_7", "id_8", "id_9"]),
        np.array([1.0, 2.0, 3.0]),
        np.ones((3, 2), dtype=np.int64),
        ["id_7", torch.tensor([2]), 3],
        np.array([True, False, True]),
    ],
)
def test_case_b049_pids_that_are_no_integers_are_refused_by_name_and_type(pids):
    with pytest.raises(DataError, match=r"pids is \(3,.*expected \(N,\) integers"):
        Embeddings(torch.zeros(3, 2), pids, ONES)


def test_camids_that_are_no_integers_are_refused_by_name():
    with pytest.raises(DataError, match=r"camids is .*float64"):
        Labels(ONES, np.array([0.5, 1.5, 2.5]))


@pytest.mark.parametrize(
    "features", [torch.zeros(3), torch.zeros(3, 2, 1), torch.zeros(3, 2, dtype=torch.int64)]
)
def test_features_that_are_no_table_of_floats_are_refused(features):
    with pytest.raises(DataError, match=r"expected \(N, D\) floating point"):
        Embeddings(features, ONES, ONES)


def test_an_array_of_features_is_refused_with_what_to_type():
    with pytest.raises(DataError, match="from_numpy"):
        Embeddings(np.zeros((3, 2), dtype=np.float32), ONES, ONES)


def test_columns_of_another_length_are_refused_with_both_lengths():
    with pytest.raises(DataError, match="4 rows of features but 3 pids"):
        Embeddings(torch.zeros(4, 2), ONES, ONES)
    with pytest.raises(DataError, match="3 pids but 2 camids"):
        Labels(ONES, ONES[:2])
