"""Evaluation: embeddings in, figures of retrieval out. Works on arrays, without a model.

``embeddings`` and ``distance`` are what goes in; ``protocols`` say which gallery entries count;
``search`` puts both together, after ``rerankers`` changed what they change; ``matches`` finds where
the matches stand and ``metrics`` turns that into AP, INP and CMC; ``retrieval`` runs it all in
blocks; ``detail`` is the record of all that can be said of an evaluation; ``coverage`` tells
beforehand whether anything can be measured; ``ranking`` is for looking at ranked galleries;
``extract`` runs a model.
"""

from reid_core.evaluation.coverage import MatchCoverage, match_coverage
from reid_core.evaluation.distance import DistanceName, pairwise_distance
from reid_core.evaluation.embeddings import Embeddings, IdColumn, Labels
from reid_core.evaluation.extract import EmbeddingModel, extract_embeddings
from reid_core.evaluation.protocols import (
    AnyCamera,
    OtherCameras,
    Prepared,
    Protocol,
    Trial,
    market1501,
    no_camera,
)
from reid_core.evaluation.ranking import TopMatches, top_matches
from reid_core.evaluation.rerankers import DistanceReranker, FeatureReranker, Reranker
from reid_core.evaluation.result import RetrievalResult
from reid_core.evaluation.retrieval import (
    evaluate_distances,
    evaluate_retrieval,
    evaluate_search,
)
from reid_core.evaluation.search import Search, searches

__all__ = [
    "AnyCamera",
    "DistanceName",
    "DistanceReranker",
    "EmbeddingModel",
    "Embeddings",
    "FeatureReranker",
    "IdColumn",
    "Labels",
    "MatchCoverage",
    "OtherCameras",
    "Prepared",
    "Protocol",
    "Reranker",
    "RetrievalResult",
    "Search",
    "TopMatches",
    "Trial",
    "evaluate_distances",
    "evaluate_retrieval",
    "evaluate_search",
    "extract_embeddings",
    "market1501",
    "match_coverage",
    "no_camera",
    "pairwise_distance",
    "searches",
    "top_matches",
]
