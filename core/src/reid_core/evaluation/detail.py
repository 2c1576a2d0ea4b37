"""The record of an evaluation beyond its headline figures: what the report draws.

It is plain numbers, small enough for a page, and stored as ``details.json`` beside
``results.json``. Fractions are from 0 to 1; distances are in the unit of the distance named.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Interval:
    """A bootstrap confidence interval over identities.

    Args:
        low: Lower end.
        high: Upper end.
        level: Share of the resamples inside, for example 0.95.
        num_resamples: Resamples it was made of.
    """

    low: float
    high: float
    level: float = 0.95
    num_resamples: int = 1000


@dataclass(frozen=True)
class Verification:
    """Pairs of a query and a gallery entry that count: is it the same identity?

    A pair is accepted where its distance is at most the threshold. The curve runs from the
    strictest to the loosest threshold.

    Args:
        num_same: Pairs of one identity.
        num_different: Pairs of two identities.
        auc: Area under the curve: the chance that a pair of one identity is nearer than one of
            two, ties counting half.
        eer: Equal error rate.
        eer_threshold: The distance at which it is reached.
        tpr_at_fpr: True positive rate by false positive rate, the latter as written: ``"1e-3"``.
        fpr: (P,) false positive rates of the curve, thinned for drawing.
        tpr: (P,) true positive rates.
        thresholds: (P,) distances.
        threshold_at_fpr: The strictest distance that reaches each ``tpr_at_fpr``; a rate is
            missing where no pair of one identity is accepted.
    """

    num_same: int
    num_different: int
    auc: float
    eer: float
    eer_threshold: float
    tpr_at_fpr: dict[str, float]
    fpr: list[float]
    tpr: list[float]
    thresholds: list[float]
    threshold_at_fpr: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class OpenSet:
    """Searches with and without a mate in the gallery.

    Args:
        num_mated: Queries with a match that counts.
        num_unmated: Queries without one, as in :attr:`RetrievalResult.num_unknown`.
        fnir_at_fpir: Share of mated searches that miss, by the share of unmated searches that
            find somebody, the latter as written: ``"1e-2"``.
        fnmr_at_fmr: The same of pairs: share of pairs of one identity that are rejected, by the
            share of pairs of two that are accepted.
    """

    num_mated: int
    num_unmated: int
    fnir_at_fpir: dict[str, float]
    fnmr_at_fmr: dict[str, float]


@dataclass(frozen=True)
class Histogram:
    """Distances of pairs of one identity and of two.

    Args:
        edges: (B + 1,) edges of the bins.
        same: (B,) pairs of one identity.
        different: (B,) pairs of two identities.
    """

    edges: list[float]
    same: list[int]
    different: list[int]


@dataclass(frozen=True)
class CameraPairs:
    """Average precision by the query's camera and that of the gallery entries.

    Args:
        query_cameras: Names of the rows.
        gallery_cameras: Names of the columns.
        ap: Mean AP of the queries of a camera in the gallery of another; None where no query
            has a match there.
        num_queries: Queries behind each mean.
    """

    query_cameras: list[str]
    gallery_cameras: list[str]
    ap: list[list[float | None]]
    num_queries: list[list[int]]


@dataclass(frozen=True)
class IdentityScore:
    """Mean AP of the queries of one identity."""

    pid: str
    ap: float
    num_queries: int


@dataclass(frozen=True)
class Failure:
    """A reason why the first answer to a query was wrong, and how often it was.

    Args:
        reason: A short name.
        explanation: One sentence.
        count: Queries; reasons exclude each other.
        examples: A few rows of the query set.
    """

    reason: str
    explanation: str
    count: int
    examples: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class EmbeddingMap:
    """Embeddings in two dimensions, the two principal components of a sample.

    Args:
        x: (N,) first coordinate.
        y: (N,) second coordinate.
        pids: (N,) identities as text.
        sides: (N,) ``query`` or ``gallery``.
        explained: Share of the variance that the two show.
    """

    x: list[float]
    y: list[float]
    pids: list[str]
    sides: list[str]
    explained: float


@dataclass(frozen=True)
class Threshold:
    """A distance up to which two images are taken for one identity.

    Args:
        value: The distance.
        distance: Name of the distance.
        criterion: What it was chosen for, ``fpr=1e-3``.
        source: The data that it was chosen on.
        features: What was done to embeddings (flip, re-ranking, …) when it was chosen.
        tpr: Share of the pairs of one identity that it accepts there; None where not recorded.
        fpr: Share of the pairs of two identities that it accepts there.
    """

    value: float
    distance: str
    criterion: str
    source: str
    features: str = ""
    tpr: float | None = None
    fpr: float | None = None


@dataclass(frozen=True)
class Detail:
    """All that is known of one evaluation.

    Args:
        dataset: Name of the test set.
        step: Optimizer steps of the weights.
        protocol: Name of the protocol.
        protocol_description: Its rule in one line.
        distance: Name of the distance.
        features: How embeddings were made, in one line.
        postprocessing: Descriptions of the rerankers, in order; empty for plain figures.
        num_trials: Draws that the figures are means over.
        metrics: Every figure by name: those of ``results.json`` and more, such as
            ``mAP_trapezoid``, ``r_precision``, ``recall@5``, ``chance_rank1``.
        intervals: Confidence intervals by metric.
        cmc: (R,) share of queries with a match within the first k, k from 1.
        verification: Pairs; None where it was not asked for.
        open_set: Only under protocols with unknown queries.
        histogram: Distances; None where it was not asked for.
        camera_pairs: None where cameras are not known, or there are too many to show.
        identities: Worst first.
        failures: By reason, most frequent first.
        map: None where it was not asked for.
        threshold: The threshold in use; None without one.
        threshold_rates: What it does on this set, for example ``{"tpr": …, "fpr": …}``.
        ap: (Q,) AP a query in the order of the queries; None where skipped.
        query_pids: (Q,) identities of the queries as text, for tests between two runs.
        warnings: What a reader must know, for example that most distances are tied.
        num_queries: Queries.
        num_valid_queries: Queries with a valid match; the others are skipped.
        num_gallery: Gallery entries.
        mean_matches: Matches a query, mean over the valid queries.
        deviations: Standard deviation over the draws of each figure, by name; empty without draws.
        num_unknown: Queries without a valid match that are part of the measurement (open set).
    """

    dataset: str
    step: int
    protocol: str
    protocol_description: str
    distance: str
    features: str = ""
    postprocessing: list[str] = field(default_factory=list)
    num_trials: int = 1
    metrics: dict[str, float] = field(default_factory=dict)
    intervals: dict[str, Interval] = field(default_factory=dict)
    cmc: list[float] = field(default_factory=list)
    verification: Verification | None = None
    open_set: OpenSet | None = None
    histogram: Histogram | None = None
    camera_pairs: CameraPairs | None = None
    identities: list[IdentityScore] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    map: EmbeddingMap | None = None
    threshold: Threshold | None = None
    threshold_rates: dict[str, float] = field(default_factory=dict)
    ap: list[float | None] = field(default_factory=list)
    query_pids: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    num_queries: int = 0
    num_valid_queries: int = 0
    num_gallery: int = 0
    mean_matches: float = 0.0
    deviations: dict[str, float] = field(default_factory=dict)
    num_unknown: int = 0
