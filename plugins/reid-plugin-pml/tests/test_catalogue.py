import pytest
from torch import nn

from reid_core.errors import ConfigError
from reid_plugin_pml.catalogue import class_of, classes, parameters_of


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("losses", {"TripletMarginLoss", "ProxyAnchorLoss", "SupConLoss", "MultiSimilarityLoss"}),
        ("miners", {"BatchHardMiner", "MultiSimilarityMiner"}),
        ("reducers", {"MeanReducer", "AvgNonZeroReducer"}),
        ("distances", {"LpDistance", "CosineSimilarity"}),
        ("regularizers", {"LpRegularizer"}),
    ],
)
def test_classes_of_every_kind_can_be_named(kind, names) -> None:
    found = classes(kind)
    assert names <= set(found)
    assert all(issubclass(cls, nn.Module) for cls in found.values())
    assert all(class_of(kind, name) is found[name] for name in names)


def test_a_misspelt_class_is_answered_with_the_nearest_and_all_others() -> None:
    with pytest.raises(ConfigError) as caught:
        class_of("losses", "TripletLoss")
    message = str(caught.value)
    assert "losses has no class 'TripletLoss'; did you mean " in message
    assert "known: AngularLoss, ArcFaceLoss, " in message
    assert "TripletMarginLoss" in message


@pytest.mark.parametrize(
    ("kind", "name", "reason"),
    [
        ("losses", "CrossBatchMemory", "set memory to the number of features"),
        ("losses", "VICRegLoss", "it needs two views of each image"),
        ("losses", "BaseMetricLossFunction", "it is the base class of the losses"),
        ("miners", "EmbeddingsAlreadyPackagedAsTriplets", "the samplers make no batches of"),
        ("reducers", "DoNothingReducer", "it gives no number"),
    ],
)
def test_a_class_that_cannot_be_used_is_refused_with_the_reason(kind, name, reason) -> None:
    assert name not in classes(kind)
    with pytest.raises(ConfigError, match=f"pml: {name} cannot be used: {reason}"):
        class_of(kind, name)


@pytest.mark.parametrize(
    ("kind", "name", "own", "inherited"),
    [
        ("losses", "TripletMarginLoss", {"margin", "swap"}, {"distance", "reducer"}),
        ("losses", "CosFaceLoss", {"margin", "scale"}, {"num_classes", "embedding_size"}),
        ("losses", "SubCenterArcFaceLoss", {"sub_centers"}, {"num_classes", "weight_regularizer"}),
        ("miners", "BatchHardMiner", set(), {"distance"}),
        ("distances", "LpDistance", set(), {"p", "power", "normalize_embeddings"}),
        ("reducers", "ThresholdReducer", {"low", "high"}, set()),
    ],
)
def test_parameters_are_those_of_the_class_and_of_its_bases(kind, name, own, inherited) -> None:
    assert own | inherited <= set(parameters_of(class_of(kind, name)))


def test_what_no_configuration_can_set_is_no_parameter() -> None:
    hidden = {"self", "args", "kwargs", "weight_init_func", "mat_based_loss", "collect_stats"}
    for kind in ("losses", "miners", "reducers", "distances", "regularizers"):
        for cls in classes(kind).values():
            assert not hidden & set(parameters_of(cls))
