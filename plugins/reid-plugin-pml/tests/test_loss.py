import copy

import pytest
import torch
from pytorch_metric_learning import distances, losses, miners, reducers

from reid_core.config.components import OptimizerConfig
from reid_core.errors import ConfigError
from reid_core.optim import build_optimizer
from reid_plugin_pml.catalogue import classes
from reid_plugin_pml.loss import PmlLoss

#: What a loss cannot do without, beside the sizes.
NEEDED = {"HistogramLoss": {"n_bins": 50}, "RankedListLoss": {"margin": 1.0, "Tn": 1.0}}
TUPLES = "ignore:Using a non-tuple sequence:UserWarning"  # of the library's HistogramLoss


def pml(loss, **keywords):
    return PmlLoss(loss=loss, num_classes=7, feature_dim=16, **keywords)


@pytest.fixture
def value_and_gradient(make_output, make_batch, features, pids):
    """Return a function that calls a loss on the features."""

    def compute(loss):
        value = loss(make_output(whole=features), make_batch(pids))
        (gradient,) = torch.autograd.grad(value, features)
        return value, gradient

    return compute


@pytest.mark.filterwarnings(TUPLES)
@pytest.mark.parametrize("name", sorted(classes("losses")))
def test_every_loss_of_the_library_gives_its_own_value_and_gradient(
    name, value_and_gradient, features, pids
) -> None:
    torch.manual_seed(0)
    made = pml(name, loss_params=NEEDED.get(name))
    theirs = copy.deepcopy(made.parts[0].loss)
    value, gradient = value_and_gradient(made)
    expected = theirs(features, pids)
    (of_theirs,) = torch.autograd.grad(expected, features)
    assert value.shape == ()
    assert value.item() == expected.item()
    assert torch.equal(gradient, of_theirs)
    assert bool(gradient.any())
    # A second step, and a copy, hang on nothing of the first.
    again, _ = value_and_gradient(copy.deepcopy(made))
    assert torch.isfinite(again)


@pytest.mark.parametrize("name", sorted(classes("miners")))
def test_every_miner_of_the_library_finds_what_is_counted(name, value_and_gradient) -> None:
    torch.manual_seed(0)
    made = pml("TripletMarginLoss", miner=name)
    assert made.metrics() == {}
    value, _ = value_and_gradient(made)
    assert torch.isfinite(value)
    counts = made.metrics()
    assert set(counts) in ({"mined_triplets"}, {"mined_positive_pairs", "mined_negative_pairs"})
    assert sum(counts.values()) > 0
    assert all(one.dtype == torch.float32 and one.shape == () for one in counts.values())


def test_parts_and_parameters_reach_the_library(value_and_gradient, features, pids) -> None:
    made = pml(
        "TripletMarginLoss",
        loss_params={"margin": 0.4},
        distance="LpDistance",
        distance_params={"normalize_embeddings": False, "power": 2},
        reducer="ThresholdReducer",
        reducer_params={"high": 30.0},
        miner="TripletMarginMiner",
        miner_params={"margin": 3.0, "type_of_triplets": "hard"},
    )
    distance = distances.LpDistance(normalize_embeddings=False, power=2)
    theirs = losses.TripletMarginLoss(
        margin=0.4, distance=distance, reducer=reducers.ThresholdReducer(high=30.0)
    )
    mined = miners.TripletMarginMiner(margin=3.0, type_of_triplets="hard", distance=distance)(
        features, pids
    )
    value, gradient = value_and_gradient(made)
    expected = theirs(features, pids, mined)
    assert value.item() == expected.item()
    assert torch.equal(gradient, torch.autograd.grad(expected, features)[0])
    assert made.metrics()["mined_triplets"].item() == len(mined[0]) > 0


def test_a_distance_of_its_own_goes_before_the_common_one() -> None:
    own = {"distance": {"name": "LpDistance", "p": 1}}
    made = pml("TripletMarginLoss", distance="LpDistance", miner="BatchHardMiner", miner_params=own)
    (part,) = made.parts
    assert part.loss.distance.p == 2
    assert part.miner.miner.distance.p == 1


def test_the_loss_is_the_mean_over_the_branches(make_output, make_batch, features, pids) -> None:
    made, batch = pml("SupConLoss", miner="BatchEasyHardMiner"), make_batch(pids)
    other = features.flip(1) * 2 + features
    alone = [made(make_output(one=branch), batch).item() for branch in (features, other)]
    both = made(make_output(a=features, b=other), batch).item()
    assert both == pytest.approx(sum(alone) / 2, rel=1e-6)


def test_each_branch_has_its_own_proxies(make_output, make_batch, features, pids) -> None:
    torch.manual_seed(0)
    made, batch = pml("ProxyAnchorLoss", num_branches=2), make_batch(pids)
    first, second = (part.loss.proxies for part in made.parts)
    assert not torch.equal(first, second)
    value = made(make_output(a=features, b=features.flip(0)), batch)
    expected = [
        part.loss(branch, pids)
        for part, branch in zip(made.parts, (features, features.flip(0)), strict=True)
    ]
    assert value.item() == pytest.approx(sum(one.item() for one in expected) / 2, rel=1e-6)


def test_another_number_of_branches_than_objects_is_refused(
    make_output, make_batch, features, pids
) -> None:
    message = r"has parameters or a memory for each of 1 branches, the head gives 2 \(a, b\); set "
    for made in (pml("ProxyAnchorLoss"), pml("ContrastiveLoss", memory=30)):
        with pytest.raises(ConfigError, match=message):
            made(make_output(a=features, b=features), make_batch(pids))


def test_features_of_another_length_are_refused(make_output, make_batch, features, pids) -> None:
    made = pml("ProxyAnchorLoss")
    message = "features of length 16, those of branch a have 5; set embedding_size to 5"
    with pytest.raises(ConfigError, match=message):
        made(make_output(a=features[:, :5]), make_batch(pids))
    fitting = pml("ProxyAnchorLoss", embedding_size=5)
    assert torch.isfinite(fitting(make_output(a=features[:, :5]), make_batch(pids)))
    # Without anything of that length, any will do.
    assert torch.isfinite(pml("SupConLoss")(make_output(a=features[:, :5]), make_batch(pids)))


def test_parameters_are_handed_over_with_the_factor_of_their_rate() -> None:
    made = pml("SoftTripleLoss", lr_factor=100.0, num_branches=2)
    (group,) = made.parameter_groups()
    assert group["lr_factor"] == 100.0
    assert {id(one) for one in group["params"]} == {id(one) for one in made.parameters()}
    assert len(group["params"]) == 2
    optimizer = build_optimizer(OptimizerConfig(lr=0.01), made)
    assert [one["lr"] for one in optimizer.param_groups] == [pytest.approx(1.0)]
    assert pml("SupConLoss").parameter_groups() == []


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_features_under_autocast_are_evaluated_in_float32(
    dtype, make_output, make_batch, features, pids
) -> None:
    half = features.detach().to(dtype)
    made = pml("MultiSimilarityLoss")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        value = made(make_output(a=half), make_batch(pids))
    assert value.dtype == torch.float32
    assert value.item() == losses.MultiSimilarityLoss()(half.float(), pids).item()


def test_a_batch_without_pairs_costs_nothing_and_has_a_gradient(
    make_output, make_batch, features
) -> None:
    value = pml("TripletMarginLoss")(make_output(a=features), make_batch(torch.arange(24)))
    assert value.item() == 0
    assert not torch.autograd.grad(value, features)[0].any()


def test_a_head_without_features_is_an_error_that_says_why(make_batch, make_output, pids) -> None:
    output = make_output(a=torch.zeros(24, 16))
    object.__setattr__(output, "features", {})
    with pytest.raises(ConfigError, match=r"pml: the head gave no features, .* bnneck, or take"):
        pml("SupConLoss")(output, make_batch(pids))


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"loss": "SupCon"}, r"has no class 'SupCon'; did you mean SupConLoss"),
        ({"loss": "SupConLoss", "miner": "BatchHard"}, "has no class 'BatchHard'; did you mean Ba"),
        ({"loss": "SupConLoss", "reducer_params": {"low": 1}}, "reducer_params is given without"),
        ({"loss": "SupConLoss", "memory": 0}, "memory: got 0, expected at least 1"),
        ({"loss": "SupConLoss", "num_branches": 0}, "num_branches: got 0, expected at least 1"),
        ({"loss": "SupConLoss", "lr_factor": 0.0}, "lr_factor: got 0.0, expected a number above"),
        (
            {"loss": "ArcFaceLoss", "loss_params": {"num_classes": 3}},
            "num_classes is set by the data; take it out of loss_params",
        ),
        (
            {"loss": "ArcFaceLoss", "loss_params": {"embedding_size": 3}},
            "embedding_size is set by embedding_size; take it out of loss_params",
        ),
        ({"loss": "ProxyNCALoss", "memory": 9}, "ProxyNCALoss cannot compare with a memory"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(keywords, message) -> None:
    with pytest.raises(ConfigError, match=message):
        PmlLoss(num_classes=7, feature_dim=16, **keywords)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"loss": "ArcFaceLoss", "feature_dim": 8}, "needs num_classes, which is not known here"),
        ({"loss": "ArcFaceLoss", "num_classes": 8}, "needs embedding_size, .*; set embedding_size"),
        ({"loss": "SupConLoss", "memory": 64}, "memory of SupConLoss needs the length of the feat"),
    ],
)
def test_sizes_that_nobody_knows_are_asked_for(keywords, message) -> None:
    with pytest.raises(ConfigError, match=message):
        PmlLoss(**keywords)


def test_a_running_statistic_goes_on_after_a_resume(value_and_gradient) -> None:
    first, resumed = pml("DynamicSoftMarginLoss"), pml("DynamicSoftMarginLoss")
    value_and_gradient(first)
    resumed.load_state_dict(copy.deepcopy(first.state_dict()))
    assert value_and_gradient(resumed)[0].item() == value_and_gradient(first)[0].item()
