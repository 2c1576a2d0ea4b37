"""Identities as text, and as tensors of one value (case B049)."""

import numpy as np
import pytest
import torch

from reid_core.errors import DataError
from reid_core.evaluation import Embeddings, Labels, evaluate_retrieval, no_camera, number_ids


def test_case_b049_a_list_of_tensors_of_one_value_works():
    pids = [torch.tensor([3]), torch.tensor([5]), torch.tensor(3)]
    found = Labels(pids, [0, 1, 2])
    assert found.pids.tolist() == [3, 5, 3]
    assert found.pids.dtype == np.int64
    assert Labels(torch.tensor([[3], [5]]), [0, 0]).pids.tolist() == [3, 5]


def test_case_b049_text_is_numbered_in_sorted_order_query_and_gallery_together():
    query, gallery = number_ids(["id_7", "id_10"], ["id_9", "id_7", "0", "-1"])
    assert query.tolist() == [2, 1]
    assert gallery.tolist() == [3, 2, 0, -1]
    again, _ = number_ids(["id_7", "id_10"], ["-1", "id_7", "0", "id_9"])
    assert again.tolist() == query.tolist()
    features = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    result = evaluate_retrieval(
        Embeddings(features, query, [0, 0]),
        Embeddings(torch.ones(4, 2), gallery, [0, 0, 0, 0]),
        protocol=no_camera(),
    )
    assert result.num_valid_queries == 1


def test_case_b049_text_as_it_is_is_refused_with_the_way_to_number_it():
    with pytest.raises(DataError, match=r"pids is \(2,\) <U4; expected .*number_ids\(query_ids, "):
        Labels(["id_7", "id_8"], [0, 0])


def test_a_row_with_several_values_is_named():
    with pytest.raises(DataError, match=r"row 1 of pids is \(2,\) int64; expected one integer"):
        Labels([torch.tensor([3]), torch.tensor([5, 6])], [0, 0])


def test_no_rows_are_no_identities():
    assert Labels([], []).pids.dtype == np.int64
