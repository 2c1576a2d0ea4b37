"""multi_query: queries of one identity and camera are one."""

import numpy as np
import pytest
import torch

from reid_core.errors import ConfigError
from reid_core.evaluation import Embeddings, evaluate_retrieval, market1501, multi_query


def side(features, pids, camids):
    return Embeddings(torch.tensor(features, dtype=torch.float32), np.array(pids), np.array(camids))


# Two queries of identity 1 in camera 0, one in camera 1, and one of identity 2.
QUERY = side([[1, 0], [0, 3], [1, 0], [0, 1]], [1, 1, 1, 2], [0, 0, 1, 0])
GALLERY = side([[1, 1], [1, 0], [0, 1]], [1, 2, 2], [2, 2, 2])


def test_queries_of_one_identity_and_camera_are_averaged_after_normalisation():
    prepared = multi_query().prepare(QUERY, GALLERY)
    # (0.5, 0.5), times the mean length 2.
    assert prepared.query.features.tolist() == [[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]]
    assert prepared.query_rows.tolist() == [0, 2, 3]
    assert prepared.gallery is GALLERY


def test_the_pooled_query_finds_what_its_parts_do_not():
    # Alone, each query of identity 1 has a mistake at distance 0 before its match.
    alone = evaluate_retrieval(QUERY, GALLERY, protocol=market1501())
    together = evaluate_retrieval(QUERY, GALLERY, protocol=multi_query())
    assert alone.ap.tolist()[:3] == [0.5, 0.5, 0.5]
    assert together.ap.tolist()[:2] == [1.0, 0.5]
    assert (together.num_queries, together.num_gallery) == (3, 3)


@pytest.mark.parametrize("distance", ["cosine", "euclidean"])
@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_where_each_query_is_alone_nothing_changes(pooling, distance):
    # Embeddings as a model gives them, far from length 1.
    features = 10 + 5 * np.random.default_rng(0).normal(size=(40, 6))
    pids = np.arange(40) % 8
    query = side(features[:8], pids[:8], np.zeros(8, int))
    gallery = side(features[8:], pids[8:], np.ones(32, int))
    alone = evaluate_retrieval(query, gallery, protocol=market1501(), distance=distance)
    together = evaluate_retrieval(
        query, gallery, protocol=multi_query(pooling=pooling), distance=distance
    )
    assert together.ap.tolist() == alone.ap.tolist()


def test_the_maximum_may_be_taken_of_raw_embeddings():
    prepared = multi_query(pooling="max", normalize=False).prepare(QUERY, GALLERY)
    assert prepared.query.features[0].tolist() == [1.0, 3.0]


def test_another_pooling_is_refused():
    with pytest.raises(ConfigError, match=r"multi_query: pooling is 'sum'; expected 'mean'"):
        multi_query(pooling="sum")
