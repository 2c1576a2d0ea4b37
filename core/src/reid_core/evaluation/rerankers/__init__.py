"""Rerankers: what may be done with embeddings or distances before the figures are made.

``base`` says what a reranker is, ``chain`` puts several after one another. Those that come with
the core are ``k_reciprocal`` (with ``joint`` distances, ``reciprocal`` sets, their ``jaccard``
distances and the ``memory`` that it needs); ``aqe`` and ``alpha_qe`` in ``expansion``,
``dba`` in ``augmentation`` and ``knn_smoothing`` in ``smoothing``, which share ``averages``.
"""

from reid_core.evaluation.rerankers.augmentation import dba
from reid_core.evaluation.rerankers.base import (
    BlockSource,
    DistanceReranker,
    FeatureReranker,
    Reranker,
)
from reid_core.evaluation.rerankers.chain import check_chain, reranked
from reid_core.evaluation.rerankers.expansion import alpha_qe, aqe
from reid_core.evaluation.rerankers.k_reciprocal import k_reciprocal
from reid_core.evaluation.rerankers.smoothing import knn_smoothing

__all__ = [
    "BlockSource",
    "DistanceReranker",
    "FeatureReranker",
    "Reranker",
    "alpha_qe",
    "aqe",
    "check_chain",
    "dba",
    "k_reciprocal",
    "knn_smoothing",
    "reranked",
]
