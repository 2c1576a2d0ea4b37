"""Embeddings from a file are evaluated as those of a run are."""

import logging

import numpy as np
import pytest

from reid_core.engine.evaluation.embedding_evaluation import (
    ZERO_CAVEAT,
    embedding_config,
    evaluate_embeddings,
)
from reid_core.evaluation.files.embedding_set import EmbeddingSet, Side

RNG = np.random.default_rng(0)


def side(pids, **columns):
    features = RNG.normal(size=(len(pids), 4)).astype(np.float32)
    return Side(features, np.array(pids), np.arange(len(pids)) % 3, columns=columns)


def caveats(protocol, query, gallery):
    config = embedding_config([f"evaluate.protocol={protocol}"])
    made = evaluate_embeddings(EmbeddingSet.of("set", query, gallery), config, weights="file")
    return list(made.evaluations[0].caveats)


@pytest.mark.parametrize("protocol", ["leave_one_out", "cuhk03"])
def test_pid_0_is_said_to_be_taken_for_somebody_where_that_matters(protocol, caplog):
    pids = [0, 1, 2, 0, 1, 2, 0, 1, 2, 0]
    with caplog.at_level(logging.WARNING):
        assert ZERO_CAVEAT in caveats(protocol, side(pids), side(pids[::-1]))
    assert f"set: {ZERO_CAVEAT}" in caplog.messages
    flags = np.array(pids) == 0
    told = caveats(
        protocol, side(pids, distractors=flags), side(pids[::-1], distractors=flags[::-1])
    )
    assert ZERO_CAVEAT not in told
    text = [str(pid) for pid in pids]
    assert ZERO_CAVEAT not in caveats(protocol, side(text), side(text[::-1]))
    assert ZERO_CAVEAT not in caveats("market1501", side(pids), side(pids[::-1]))
