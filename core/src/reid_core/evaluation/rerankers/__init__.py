"""Rerankers: what may be done with embeddings or distances before the figures are made.

``base`` says what a reranker is, ``chain`` puts several after one another; the others are the
rerankers that come with the core, one a file.
"""

from reid_core.evaluation.rerankers.base import (
    BlockSource,
    DistanceReranker,
    FeatureReranker,
    Reranker,
)
from reid_core.evaluation.rerankers.chain import check_chain, reranked

__all__ = [
    "BlockSource",
    "DistanceReranker",
    "FeatureReranker",
    "Reranker",
    "check_chain",
    "reranked",
]
