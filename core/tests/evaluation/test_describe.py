import numpy as np
import pytest
import torch

from reid_core.evaluation import (
    Embeddings,
    cuhk03,
    describe,
    evaluate_retrieval,
    leave_one_out,
    market1501,
    no_camera,
    open_set,
    searches,
    verify,
)
from reid_core.evaluation.metrics.query_figures import query_figures
from reid_core.evaluation.protocols.vehicleid import vehicleid


def embeddings(features, pids, camids):
    return Embeddings(torch.as_tensor(features, dtype=torch.float32), pids, camids)


def random_set(seed=0, num_query=30, num_gallery=90, identities=10):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(identities + 1, 8))

    def side(number):
        pids = rng.integers(0, identities, number)
        features = centres[pids] + 1.3 * rng.normal(size=(number, 8))
        return embeddings(features, pids, rng.integers(0, 3, number))

    return side(num_query), side(num_gallery)


def described(query, gallery, protocol, **parameters):
    result = evaluate_retrieval(query, gallery, protocol=protocol)
    return result, describe(query, gallery, protocol=protocol, result=result, **parameters)


def test_everything_is_measured_on_what_was_evaluated():
    query, gallery = random_set()
    result, detail = described(
        query, gallery, market1501(), dataset="mine", step=7, features="flip"
    )
    assert (detail.dataset, detail.step, detail.features) == ("mine", 7, "flip")
    assert (detail.protocol, detail.distance) == ("market1501", "cosine")
    assert detail.protocol_description == market1501().description
    assert detail.metrics.items() >= result.scalars().items()
    assert detail.cmc == result.cmc.tolist()
    assert detail.ap == [None if np.isnan(value) else value for value in result.ap.tolist()]
    assert detail.query_pids == [str(pid) for pid in query.labels.pids]
    assert detail.num_queries == 30
    assert detail.num_valid_queries == result.num_valid_queries
    assert detail.num_gallery == 90
    assert detail.mean_matches == result.mean_matches
    (search,) = searches(query, gallery, distance="cosine", protocol=market1501())
    assert detail.verification == verify(search)
    assert detail.metrics["auc"] == detail.verification.auc
    assert detail.metrics["tpr@fpr=1e-2"] == detail.verification.tpr_at_fpr["1e-2"]
    assert sum(detail.histogram.same) == detail.verification.num_same
    assert sum(failure.count for failure in detail.failures) == round(
        (1 - result.rank(1)) * result.num_valid_queries
    )
    assert detail.open_set is None
    assert detail.warnings == []


def test_figures_by_other_names_are_the_ones_measured_query_by_query():
    query, gallery = random_set(1)
    result, detail = described(query, gallery, market1501())
    (search,) = searches(query, gallery, distance="cosine", protocol=market1501())
    means = query_figures(search).means()
    for name, value in means.items():
        assert detail.metrics[name] == pytest.approx(value, abs=1e-12), name
    assert detail.metrics["recall@4"] == result.rank(4)
    assert detail.metrics["rank50"] == result.rank(50)
    assert detail.metrics["chance_rank1"] == result.chance_rank1


def test_intervals_enclose_the_figures_and_are_seeded():
    query, gallery = random_set(2)
    _, detail = described(query, gallery, market1501())
    assert set(detail.intervals) == {
        "mAP",
        "mINP",
        "rank1",
        "rank5",
        "rank10",
        "mAP_trapezoid",
        "r_precision",
    }
    for name, interval in detail.intervals.items():
        assert interval.low <= detail.metrics[name] <= interval.high
    assert described(query, gallery, market1501())[1] == detail
    assert described(query, gallery, market1501(), seed=1)[1].intervals != detail.intervals


def test_identities_come_worst_first_under_their_names():
    query, gallery = random_set(3)
    names = {pid: f"person {pid}" for pid in range(10)}
    result, detail = described(query, gallery, market1501(), pid_names=names)
    scores = [one.ap for one in detail.identities]
    assert scores == sorted(scores)
    worst = detail.identities[0]
    of_worst = [f"person {pid}" == worst.pid for pid in query.labels.pids]
    assert worst.ap == pytest.approx(np.nanmean(result.ap[of_worst]))
    assert sum(one.num_queries for one in detail.identities) == result.num_valid_queries
    assert set(detail.map.pids) <= set(names.values())


def test_cameras_are_named_and_left_out_where_they_are_not_known():
    query, gallery = random_set(4)
    _, detail = described(query, gallery, market1501(), camera_names={0: "a", 1: "b", 2: "c"})
    assert detail.camera_pairs.query_cameras == ["a", "b", "c"]
    _, detail = described(query, gallery, no_camera(), has_cameras=False)
    assert detail.camera_pairs is None


def test_drawn_trials_have_means_and_a_value_a_row_of_the_whole_set():
    query, gallery = random_set(5)
    result, detail = described(query, gallery, leave_one_out())
    assert len(detail.ap) == len(detail.query_pids) == len(result.ap) == 120
    pids = [*query.labels.pids, *gallery.labels.pids]
    assert detail.query_pids == [str(pid) for pid in pids]
    assert detail.metrics["mAP"] == result.mAP
    made = searches(query, gallery, distance="cosine", protocol=leave_one_out())
    assert detail.metrics["auc"] == pytest.approx(
        np.mean([verify(search).auc for search in made]), abs=1e-12
    )


def test_trials_that_draw_other_queries_keep_to_the_rows_of_the_set():
    # The set has one side: each draw makes queries of some of its rows.
    query, gallery = random_set(8, num_query=0)
    result, detail = described(query, gallery, vehicleid())
    assert result.num_trials == detail.num_trials == 10
    pids = [*query.labels.pids.tolist(), *gallery.labels.pids.tolist()]
    assert detail.query_pids == [str(pid) for pid in pids]
    of = {str(pid): np.array(pids) == pid for pid in pids}
    for identity in detail.identities:
        assert identity.ap == pytest.approx(np.nanmean(result.ap[of[identity.pid]]))
    assert detail.metrics["rank1"] == result.rank(1)
    # Of 90 rows each draw leaves ten in the gallery.
    assert sum(ap is not None for ap in detail.ap) == 90
    assert (detail.num_queries, detail.num_valid_queries) == (80, 80)


def test_single_shot_figures_are_not_mixed_with_those_over_all_matches():
    query, gallery = random_set(6)
    result, detail = described(query, gallery, cuhk03())
    assert detail.metrics["rank1"] == detail.metrics["recall@1"] == result.rank(1)
    assert "r_precision" not in detail.metrics
    assert "rank1" not in detail.intervals
    low, high = detail.intervals["mAP"].low, detail.intervals["mAP"].high
    assert low <= result.mAP <= high


def test_open_set_protocols_have_their_error_rates():
    query, gallery = random_set(7)
    known = np.flatnonzero(gallery.labels.pids < 6)
    gallery = embeddings(
        gallery.features[known], gallery.labels.pids[known], gallery.labels.camids[known]
    )
    _, detail = described(query, gallery, open_set())
    assert detail.open_set.num_unmated == int((query.labels.pids >= 6).sum())
    rates = detail.open_set.fnir_at_fpir
    assert detail.metrics["fnir@fpir=1e-1"] == rates["1e-1"]
    assert 0 < rates["1e-1"] <= rates["1e-2"] <= 1
    expected = 1 - detail.verification.tpr_at_fpr["1e-1"]
    assert detail.metrics["fnmr@fmr=1e-1"] == pytest.approx(expected)


def test_collapsed_embeddings_warn_of_ties_of_chance_and_of_the_collapse():
    pids = np.arange(40) % 4
    query = embeddings(np.ones((40, 5)), pids, np.zeros(40, int))
    gallery = embeddings(np.ones((40, 5)), pids, np.ones(40, int))
    _, detail = described(query, gallery, market1501())
    assert [warning.split(":")[0][:21] for warning in detail.warnings] == [
        "most distances are ti",
        "rank1 is at chance le",
        "embeddings are nearly",
    ]
    assert [(one.reason, one.count) for one in detail.failures] == [("tied", 40)]
    assert detail.verification.auc == 0.5


def test_without_pairs_of_two_identities_the_rest_is_measured_and_the_reason_is_said():
    query = embeddings([[1.0, 0.0]], np.array([1]), np.array([0]))
    gallery = embeddings([[1.0, 0.1], [0.5, 0.5]], np.array([1, 1]), np.array([1, 1]))
    _, detail = described(query, gallery, market1501())
    assert (detail.verification, detail.histogram) == (None, None)
    assert "auc" not in detail.metrics
    assert detail.metrics["mAP"] == 1.0
    assert "2 pairs of one identity and 0 of two" in detail.warnings[-1]


def test_real_embeddings_are_described_in_full(osnet_embeddings):
    data = osnet_embeddings
    query = embeddings(data["qf"].astype(np.float32), data["q_pids"], data["q_camids"])
    gallery = embeddings(data["gf"].astype(np.float32), data["g_pids"], data["g_camids"])
    _, detail = described(query, gallery, market1501())
    assert detail.verification.num_same == 240 * 9
    assert detail.metrics["mAP_trapezoid"] < detail.metrics["mAP"]
    assert detail.metrics["auc"] > 0.75
    assert len(detail.identities) == len(set(data["q_pids"].tolist()))
    assert np.array(detail.camera_pairs.num_queries).sum() > 0
