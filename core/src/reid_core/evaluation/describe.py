"""All that can be said of an evaluation, from embeddings: figures, intervals, curves, failures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from reid_core.evaluation.collection import Collection
from reid_core.evaluation.detail import Detail, OpenSet, Verification
from reid_core.evaluation.distances.distance import DistanceName
from reid_core.evaluation.embeddings import Embeddings
from reid_core.evaluation.metrics.camera_pairs import CameraPairTable
from reid_core.evaluation.metrics.caveats import collapse_caveat
from reid_core.evaluation.metrics.embedding_map import embedding_map
from reid_core.evaluation.metrics.further_metrics import chance_precision
from reid_core.evaluation.metrics.identities import identity_scores
from reid_core.evaluation.metrics.intervals import bootstrap_intervals
from reid_core.evaluation.metrics.query_figures import CMC_RANKS, RECALL_RANKS
from reid_core.evaluation.metrics.verification import histogram_of, verification_of
from reid_core.evaluation.protocols import Protocol
from reid_core.evaluation.rerankers import Reranker
from reid_core.evaluation.result import RetrievalResult
from reid_core.evaluation.search import Search, searches

#: Figures of ranking that have an interval, besides mAP and mINP.
WITH_INTERVAL = ("rank1", "rank5", "rank10", "mAP_trapezoid", "r_precision")


def describe(
    query: Embeddings,
    gallery: Embeddings,
    *,
    protocol: Protocol,
    result: RetrievalResult,
    distance: DistanceName = "cosine",
    rerankers: Sequence[Reranker] = (),
    dataset: str = "",
    step: int = 0,
    features: str = "",
    pid_names: Mapping[int, str] | None = None,
    camera_names: Mapping[int, str] | None = None,
    has_cameras: bool = True,
    num_resamples: int = 1000,
    seed: int = 0,
    made: Iterable[Search] | None = None,
) -> Detail:
    """Measure everything on what was evaluated.

    Memory is that of blocks of distances, and of all pairs of one identity; see
    :func:`roc_counts`.

    Args:
        query: Q queries.
        gallery: G gallery entries.
        protocol: The rule that ``result`` was made by.
        result: What :func:`evaluate_retrieval` gave for the same arguments.
        distance: ``cosine`` or ``euclidean``.
        rerankers: What was done with embeddings or distances first.
        dataset: Name of the test set.
        step: Optimizer steps of the weights.
        features: How the embeddings were made, in one line.
        pid_names: Name of each identity; the number itself where there is none.
        camera_names: Name of each camera; the number itself where there is none.
        has_cameras: Whether ``camids`` tell cameras.
        num_resamples: Resamples of the bootstrap.
        seed: Seed of the bootstrap and of the sample that is drawn as a map.
        made: The searches of these arguments where they were made before, so that re-ranking is
            not done again.

    Returns:
        The record.

    Raises:
        DataError: Features differ in width or are not finite.
        UsageError: The distance has another name, or the rerankers another order.
        PluginError: The protocol answers wrongly.
    """
    pooled = np.concatenate([query.labels.pids, gallery.labels.pids])
    collected = Collection(
        _camera_table(query, gallery, protocol) if has_cameras else None,
        pooled if protocol.pools else query.labels.pids,
    )
    has_trials = False
    if made is None:
        made = searches(query, gallery, distance=distance, protocol=protocol, rerankers=rerankers)
    for search in made:
        collected.add(search)
        has_trials = search.trial is not None
    pids = pooled if has_trials else collected.pids[0]
    names = pid_names or {}
    query_pids = [names.get(pid, str(pid)) for pid in pids.tolist()]
    if not has_trials:
        collected.rows = [np.arange(len(pids))]
    verification = verification_of(collected.counts) if collected.counts else None
    open_set = _open_set(collected, verification) if protocol.keeps_unmatched else None
    problems = [
        *result.warnings(),
        collapse_caveat(query, gallery, distance=distance),
        collected.problem,
        _open_set_problem(open_set),
    ]
    return Detail(
        dataset=dataset,
        step=step,
        protocol=result.protocol,
        protocol_description=result.protocol_description,
        distance=result.distance,
        features=features,
        postprocessing=list(result.postprocessing),
        num_trials=result.num_trials,
        metrics={
            **_ranking_metrics(result, collected, protocol),
            **_pair_metrics(verification, open_set),
        },
        intervals=bootstrap_intervals(
            _query_values(result, collected, protocol),
            pids,
            num_resamples=num_resamples,
            seed=seed,
        ),
        cmc=result.cmc.tolist(),
        verification=verification,
        open_set=open_set,
        histogram=histogram_of(collected.counts) if collected.counts else None,
        camera_pairs=collected.cameras.table(camera_names) if collected.cameras else None,
        identities=identity_scores(result.ap, query_pids),
        failures=collected.failures.failures(),
        map=embedding_map(query, gallery, distance=distance, names=pid_names, seed=seed),
        ap=[None if np.isnan(value) else value for value in result.ap.tolist()],
        query_pids=query_pids,
        warnings=[problem for problem in problems if problem],
        num_queries=result.num_queries,
        num_valid_queries=result.num_valid_queries,
        num_gallery=result.num_gallery,
        mean_matches=result.mean_matches,
        deviations=dict(result.deviations),
        num_unknown=result.num_unknown,
    )


def _camera_table(
    query: Embeddings, gallery: Embeddings, protocol: Protocol
) -> CameraPairTable | None:
    sides = [query.labels.camids, gallery.labels.camids]
    if protocol.pools:
        sides = [np.concatenate(sides)] * 2
    table = CameraPairTable(*sides)
    return table if table.is_readable else None


def _ranking_metrics(
    result: RetrievalResult, collected: Collection, protocol: Protocol
) -> dict[str, float]:
    means = collected.means()
    depth = len(result.cmc)
    metrics = {**result.scalars(), **result.further}
    metrics |= {f"rank{k}": result.rank(k) for k in CMC_RANKS if k <= depth}
    if protocol.scoring != "single_shot":
        # These are about all matches of a query, of which single-shot draws one.
        further = ("mAP_trapezoid", "r_precision", *(n for n in means if n.startswith("match_")))
        metrics |= {name: means[name] for name in further}
    metrics |= {f"recall@{k}": result.rank(k) for k in RECALL_RANKS if k <= depth}
    if protocol.scoring == "images":
        metrics |= {f"recall@{k}": means[f"recall@{k}"] for k in RECALL_RANKS if k > depth}
    chance = chance_precision(result.num_matches, result.num_candidates)
    return {
        **metrics,
        "chance_rank1": result.chance_rank1,
        "chance_mAP": float(np.nanmean(chance)),
    }


def _pair_metrics(verification: Verification | None, open_set: OpenSet | None) -> dict[str, float]:
    metrics: dict[str, float] = {}
    if verification is not None:
        metrics |= {"auc": verification.auc, "eer": verification.eer}
        metrics |= {f"tpr@fpr={name}": tpr for name, tpr in verification.tpr_at_fpr.items()}
    if open_set is not None:
        metrics |= {f"fnir@fpir={name}": rate for name, rate in open_set.fnir_at_fpir.items()}
        metrics |= {f"fnmr@fmr={name}": rate for name, rate in open_set.fnmr_at_fmr.items()}
    return metrics


def _query_values(
    result: RetrievalResult, collected: Collection, protocol: Protocol
) -> dict[str, NDArray[np.float64]]:
    """Return the figures that are means over queries, a value a query."""
    values = {"mAP": result.ap, "mINP": result.inp}
    if protocol.scoring == "images":
        values |= {name: collected.by_row(name, len(result.ap)) for name in WITH_INTERVAL}
    return values


def _open_set_problem(open_set: OpenSet | None) -> str:
    if open_set is None or open_set.num_unmated:
        return ""
    return (
        "no query is of an unknown identity, so the rates of false positives of searches "
        "(fnir@fpir) are not measured"
    )


def _open_set(collected: Collection, verification: Verification | None) -> OpenSet:
    return collected.open_set.rates({} if verification is None else verification.tpr_at_fpr)
