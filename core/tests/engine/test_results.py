from __future__ import annotations

from torch import nn

from reid_core.engine.results import Evaluation, Results, feature_of, feature_words


class Head(nn.Linear):
    test_feature = "after"


def evaluation(**changes):
    facts = {
        "dataset": "mine",
        "step": 3,
        "epoch": 1.0,
        "protocol": "market1501",
        "protocol_description": "…",
        "distance": "cosine",
        "metrics": {"mAP": 0.5},
        "num_queries": 2,
        "num_valid_queries": 2,
        "num_gallery": 4,
    }
    return Evaluation(**{**facts, **changes})


def test_b084_a_result_states_where_the_embedding_is_taken_from():
    assert feature_of(nn.Sequential(nn.Linear(1, 1), Head(1, 1))) == "after"
    assert feature_of(nn.Linear(1, 1)) == ""
    results = Results([evaluation(test_feature="after")])
    plain = results.to_plain()
    assert plain["evaluations"][0]["test_feature"] == "after"
    assert Results.from_plain(plain).evaluations == results.evaluations


def test_results_of_the_first_release_can_be_read():
    plain = Results([evaluation()]).to_plain()
    del plain["evaluations"][0]["test_feature"]
    assert Results.from_plain(plain).evaluations == [evaluation()]


def test_caveats_stand_beside_the_numbers():
    told = evaluation(caveats=["3 identities are trained on"])
    assert told.line().endswith(
        "(protocol market1501, cosine distance; 3 identities are trained on)"
    )
    plain = Results([told]).to_plain()
    assert Results.from_plain(plain).evaluations == [told]


def test_the_spread_over_draws_stands_beside_the_mean():
    told = evaluation(
        metrics={"mAP": 0.5, "mAP_all_matches": 0.4}, num_trials=10, deviations={"mAP": 0.0123}
    )
    assert told.line().startswith(
        "mine: mAP 50.00 ± 1.23 %  mAP_all_matches 40.00 %  (protocol market1501, "
    )
    plain = Results([told]).to_plain()
    assert Results.from_plain(plain).evaluations == [told]
    del plain["evaluations"][0]["deviations"], plain["evaluations"][0]["num_unknown"]
    assert Results.from_plain(plain).evaluations[0].deviations == {}


def test_people_are_told_where_an_embedding_is_taken_from():
    assert feature_words("after") == "embedding after the neck"
    assert feature_words("before") == "embedding before the neck"
    assert feature_words("pooled") == "test_feature pooled"
    assert feature_words("") == ""
