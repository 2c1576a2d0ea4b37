"""Evaluation: embeddings in, figures of retrieval out. Works on arrays, without a model.

``embeddings`` and ``distance`` are what goes in; ``protocols`` say which gallery entries count;
``search`` puts both together, after ``rerankers`` changed what they change; ``matches`` finds where
the matches stand and ``metrics`` turns that into AP, INP and CMC; ``retrieval`` runs it all in
blocks; ``detail`` is the record of all that can be said of an evaluation; ``coverage`` tells
beforehand whether anything can be measured; ``ranking`` is for looking at ranked galleries;
``embedding_file`` reads and writes embeddings; ``threshold`` chooses one and says what it does;
``extract`` runs a model, ``views`` on several views of an image.
"""

from reid_core.evaluation.coverage import MatchCoverage, match_coverage
from reid_core.evaluation.describe import describe
from reid_core.evaluation.detail import (
    CameraPairs,
    Detail,
    EmbeddingMap,
    Failure,
    Histogram,
    IdentityScore,
    Interval,
    OpenSet,
    Threshold,
    Verification,
)
from reid_core.evaluation.distances.distance import DistanceName, pairwise_distance
from reid_core.evaluation.distances.nearest import Nearest, nearest
from reid_core.evaluation.embeddings import Embeddings, IdColumn, Labels
from reid_core.evaluation.extract import EmbeddingModel, extract_embeddings
from reid_core.evaluation.files.embedding_file import read_embeddings, write_embeddings
from reid_core.evaluation.files.embedding_set import EmbeddingSet, Side
from reid_core.evaluation.ids import number_ids
from reid_core.evaluation.metrics.camera_pairs import camera_pairs
from reid_core.evaluation.metrics.comparison import Comparison, compare_runs
from reid_core.evaluation.metrics.embedding_map import embedding_map
from reid_core.evaluation.metrics.failures import failures
from reid_core.evaluation.metrics.intervals import bootstrap_intervals
from reid_core.evaluation.metrics.open_set_rates import open_set_rates
from reid_core.evaluation.metrics.query_figures import QueryFigures, query_figures
from reid_core.evaluation.metrics.roc import OperatingPoint, RocCounts
from reid_core.evaluation.metrics.threshold import (
    Criterion,
    ThresholdRates,
    choose_threshold,
    threshold_rates,
)
from reid_core.evaluation.metrics.verification import roc_counts, verify
from reid_core.evaluation.protocols import (
    AnyCamera,
    Draws,
    OtherCameras,
    Prepared,
    Protocol,
    Trial,
    market1501,
    no_camera,
)
from reid_core.evaluation.protocols.atrw import atrw
from reid_core.evaluation.protocols.clothes import clothes_change, ltcc
from reid_core.evaluation.protocols.cuhk03_np import cuhk03_np
from reid_core.evaluation.protocols.leave_one_out import leave_one_out
from reid_core.evaluation.protocols.modalities import regdb
from reid_core.evaluation.protocols.msmt17 import msmt17
from reid_core.evaluation.protocols.multi_query import multi_query
from reid_core.evaluation.protocols.open_set import open_set
from reid_core.evaluation.protocols.prcc import prcc
from reid_core.evaluation.protocols.single_shot import cuhk03
from reid_core.evaluation.protocols.sysu_mm01 import sysu_mm01
from reid_core.evaluation.protocols.tracklets import tracklets
from reid_core.evaluation.protocols.vehicleid import vehicleid
from reid_core.evaluation.protocols.veri776 import veri776, veri776_tracks
from reid_core.evaluation.protocols.veri_wild import veri_wild
from reid_core.evaluation.rank_list import RankList, rank_lists
from reid_core.evaluation.ranking import TopMatches, top_matches, top_matches_of
from reid_core.evaluation.rerankers import DistanceReranker, FeatureReranker, Reranker
from reid_core.evaluation.result import RetrievalResult
from reid_core.evaluation.retrieval import (
    evaluate_distances,
    evaluate_retrieval,
    evaluate_search,
)
from reid_core.evaluation.search import Search, searches
from reid_core.evaluation.views import Views, ViewsModel, with_views

__all__ = [
    "AnyCamera",
    "CameraPairs",
    "Comparison",
    "Criterion",
    "Detail",
    "DistanceName",
    "DistanceReranker",
    "Draws",
    "EmbeddingMap",
    "EmbeddingModel",
    "EmbeddingSet",
    "Embeddings",
    "Failure",
    "FeatureReranker",
    "Histogram",
    "IdColumn",
    "IdentityScore",
    "Interval",
    "Labels",
    "MatchCoverage",
    "Nearest",
    "OpenSet",
    "OperatingPoint",
    "OtherCameras",
    "Prepared",
    "Protocol",
    "QueryFigures",
    "RankList",
    "Reranker",
    "RetrievalResult",
    "RocCounts",
    "Search",
    "Side",
    "Threshold",
    "ThresholdRates",
    "TopMatches",
    "Trial",
    "Verification",
    "Views",
    "ViewsModel",
    "atrw",
    "bootstrap_intervals",
    "camera_pairs",
    "choose_threshold",
    "clothes_change",
    "compare_runs",
    "cuhk03",
    "cuhk03_np",
    "describe",
    "embedding_map",
    "evaluate_distances",
    "evaluate_retrieval",
    "evaluate_search",
    "extract_embeddings",
    "failures",
    "leave_one_out",
    "ltcc",
    "market1501",
    "match_coverage",
    "msmt17",
    "multi_query",
    "nearest",
    "no_camera",
    "number_ids",
    "open_set",
    "open_set_rates",
    "pairwise_distance",
    "prcc",
    "query_figures",
    "rank_lists",
    "read_embeddings",
    "regdb",
    "roc_counts",
    "searches",
    "sysu_mm01",
    "threshold_rates",
    "top_matches",
    "top_matches_of",
    "tracklets",
    "vehicleid",
    "veri776",
    "veri776_tracks",
    "veri_wild",
    "verify",
    "with_views",
    "write_embeddings",
]
