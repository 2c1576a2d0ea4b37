import pytest
import torch

from reid_core.errors import ConfigError
from reid_plugin_pml.build import build


def test_parameters_reach_the_object() -> None:
    made = build("losses", "TripletMarginLoss", {"margin": 0.3, "swap": True})
    assert type(made).__name__ == "TripletMarginLoss"
    assert (made.margin, made.swap) == (0.3, True)


def test_a_number_that_yaml_reads_as_text_is_a_number() -> None:
    assert build("losses", "TripletMarginLoss", {"margin": "1e-4"}).margin == 1e-4


def test_parts_are_built_from_a_name_or_a_name_with_parameters() -> None:
    made = build(
        "losses",
        "ContrastiveLoss",
        {
            "distance": {"name": "LpDistance", "power": 2},
            "embedding_regularizer": "LpRegularizer",
            "reducer": {"name": "ThresholdReducer", "low": 0.5},
        },
    )
    assert made.distance.power == 2
    assert type(made.embedding_regularizer).__name__ == "LpRegularizer"
    assert {one.low for one in made.reducer.reducers.values()} == {0.5}


def test_weights_of_classes_are_given_as_a_list() -> None:
    made = build("reducers", "ClassWeightedReducer", {"weights": [1, 2.5]})
    assert torch.equal(made.weights, torch.tensor([1.0, 2.5]))


@pytest.mark.parametrize(
    ("kind", "name", "params", "message"),
    [
        (
            "losses", "TripletMarginLoss", {"margn": 0.3},
            r"has no parameter 'margn'; did you mean margin\? \(known: margin, swap, smooth_loss",
        ),
        ("miners", "MultiSimilarityMiner", {"margin": 1}, r"no parameter 'margin' \(known: epsil"),
        ("losses", "CircleLoss", {"mat_based_loss": True}, "has no parameter 'mat_based_loss'"),
        ("losses", "TripletMarginLoss", {"margin": "wide"}, "got 'wide', expected a number"),
        ("losses", "TripletMarginLoss", {"margin": True}, "margin: got True, expected a number"),
        ("losses", "TripletMarginLoss", {"margin": [1]}, r"margin: got \[1\], expected a number"),
        ("losses", "TripletMarginLoss", {"swap": 1}, "swap: got 1, expected true or false"),
        ("losses", "RankedListLoss", {"Tn": 1}, "cannot do without margin; .* {margin: 1}"),
        ("losses", "RankedListLoss", {"margin": 1, "Tn": 1, "imbalance": 2}, "between 0 and 1"),
        ("losses", "CircleLoss", {"distance": "LpDistance"}, "does not take .*CosineSimilarity"),
        ("losses", "CircleLoss", {"distance": "Cosine"}, "distances has no class 'Cosine'"),
        ("losses", "CircleLoss", {"distance": 3}, "distance: got 3, expected a class"),
        ("losses", "CircleLoss", {"reducer": {"low": 0}}, "reducer: got {'low': 0}, expected a cl"),
        (
            "losses", "CircleLoss", {"reducer": {"name": "ThresholdReducer", "lo": 0}},
            "ThresholdReducer has no parameter 'lo'; did you mean low",
        ),
        ("miners", "BatchHardMiner", {"pos_strategy": "easy"}, "does not take .*pos_strategy"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_before_anything_is_trained(kind, name, params, message):
    with pytest.raises(ConfigError, match=message) as caught:
        build(kind, name, params)
    assert str(caught.value).startswith("pml: ")


def test_a_running_statistic_is_part_of_the_state() -> None:
    assert "hist_" in build("losses", "DynamicSoftMarginLoss", {}).state_dict()
