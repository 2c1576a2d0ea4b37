"""``--min``: what is read, and what is held to it."""

from __future__ import annotations

import math

import pytest

from reid_core.cli.evaluate.gate import Minimum, judge
from reid_core.engine.results import Evaluation
from reid_core.errors import UsageError
from reid_core.evaluation.detail import Detail


def evaluation(**changes: object) -> Evaluation:
    values: dict = {
        "dataset": "one",
        "step": 0,
        "epoch": 0.0,
        "protocol": "market1501",
        "protocol_description": "",
        "distance": "cosine",
        "metrics": {"mAP": 0.8},
        "num_queries": 1,
        "num_valid_queries": 1,
        "num_gallery": 1,
        **changes,
    }
    return Evaluation(**values)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mAP=0.8", Minimum("mAP", 0.8)),
        ("mAP = 80%", Minimum("mAP", 0.8)),
        ("rank17=1", Minimum("rank17", 1.0)),
        ("tpr@fpr=1e-3=0.9", Minimum("tpr@fpr=1e-3", 0.9)),
        ("rerank:mINP=.5", Minimum("mINP", 0.5, of_reranked=True)),
        ("recall@4=0", Minimum("recall@4", 0.0)),
    ],
)
def test_a_minimum_is_read(text, expected):
    assert Minimum.parse(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "rank51=0.1",
        "match_recall@3=0.1",
        "mAP",
        "mAP=",
        "eer=0.1",
        "tpr@fpr=1e-9=0.5",
        "rank=0.5",
        "mAP=nan",
        "mAP=-0.1",
        "=1",
    ],
)
def test_what_is_no_minimum_is_refused(text):
    with pytest.raises(UsageError, match="--min"):
        Minimum.parse(text)


def test_every_test_set_is_held_to_it():
    both = [evaluation(), evaluation(dataset="two", metrics={"mAP": 0.7})]
    verdicts = judge([Minimum("mAP", 0.75)], both, lambda one: None)
    assert [(one.dataset, one.is_met) for one in verdicts] == [("one", True), ("two", False)]
    assert verdicts[1].line() == "two: mAP is 70.00 %, below the minimum of 75 % by 5 points"


def test_plain_and_re_ranked_figures_have_minimums_of_their_own():
    both = [evaluation(), evaluation(metrics={"mAP": 0.9}, postprocessing=["x"])]
    (plain,) = judge([Minimum("mAP", 0.85)], both, lambda one: None)
    (reranked,) = judge([Minimum("mAP", 0.85, True)], both, lambda one: None)
    assert (plain.is_met, reranked.is_met) == (False, True)
    assert reranked.metric == "rerank:mAP"
    with pytest.raises(UsageError, match=r"--min rerank:mAP=0\.85: nothing is re-ranked"):
        judge([Minimum("mAP", 0.85, True)], [evaluation()], lambda one: None)


def test_a_figure_that_is_not_defined_reaches_nothing():
    (verdict,) = judge(
        [Minimum("mAP", 0.0)], [evaluation(metrics={"mAP": math.nan})], lambda e: None
    )
    assert not verdict.is_met


def test_the_names_are_those_that_details_have():
    from reid_core.evaluation.metrics.query_figures import MATCH_RANKS, RECALL_RANKS
    from reid_core.evaluation.metrics.verification import NAMED_RATES

    names = [f"recall@{k}" for k in RECALL_RANKS]
    names += [f"match_recall@{k}" for k in MATCH_RANKS]
    names += [f"tpr@fpr={rate}" for rate in NAMED_RATES]
    for name in names:
        assert Minimum.parse(f"{name}=0.5").metric == name


def test_any_rank_of_the_cmc_can_be_asked_for():
    detail = Detail(
        dataset="one",
        step=0,
        protocol="market1501",
        protocol_description="",
        distance="cosine",
        cmc=[0.1, 0.2, 0.4],
    )
    (verdict,) = judge([Minimum("rank3", 0.4)], [evaluation()], lambda one: detail)
    assert (verdict.value, verdict.is_met) == (0.4, True)
    with pytest.raises(UsageError, match=r"--min rank9=0\.4: no test set has this figure"):
        judge([Minimum("rank9", 0.4)], [evaluation()], lambda one: detail)


def test_a_test_set_that_lacks_the_figure_misses_the_minimum():
    both = [evaluation(metrics={"mAP": 0.8, "auc": 0.9}), evaluation(dataset="two")]
    verdicts = judge([Minimum("auc", 0.5)], both, lambda one: None)
    assert [(one.dataset, one.is_met) for one in verdicts] == [("one", True), ("two", False)]
    assert verdicts[1].line() == "two: auc is not measured; the minimum of 50 % is wanted"


def test_an_error_rate_is_held_to_a_maximum():
    from reid_core.evaluation.metrics.open_set_rates import NAMED_SEARCH_RATES
    from reid_core.evaluation.metrics.verification import NAMED_RATES

    texts = [f"fnir@fpir={rate}" for rate in NAMED_SEARCH_RATES]
    texts += [f"fnmr@fmr={rate}" for rate in NAMED_RATES]
    for name in ["eer", *texts]:
        wanted = Minimum.parse_maximum(f"{name} = 5%")
        assert wanted == Minimum(name, 0.05, is_maximum=True)
        assert wanted.needs_details
        both = [evaluation(metrics={name: 0.05}), evaluation(dataset="two", metrics={name: 0.07})]
        verdicts = judge([wanted], both, lambda one: None)
        assert [one.is_met for one in verdicts] == [True, False]
        assert verdicts[0].line() == f"one: {name} is 5.00 %, at most the maximum of 5 %"
        told = f"two: {name} is 7.00 %, above the maximum of 5 % by 2 points"
        assert verdicts[1].line() == told
    undefined = judge([wanted], [evaluation(metrics={name: math.nan})], lambda one: None)
    assert not undefined[0].is_met
    assert Minimum.parse_maximum("rerank:eer=0.1").of_reranked


@pytest.mark.parametrize("text", ["mAP=0.5", "eer", "eer=2", "fnir@fpir=1e-4=0.1", "chance=0"])
def test_what_is_no_maximum_is_refused(text):
    with pytest.raises(UsageError, match=f"--max {text}: expected"):
        Minimum.parse_maximum(text)


def test_an_error_rate_has_no_minimum():
    with pytest.raises(UsageError, match=r"eer is better when it is lower: use --max eer=0\.1"):
        Minimum.parse("eer=0.1")
