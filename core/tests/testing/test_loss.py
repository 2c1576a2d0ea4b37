import pytest

from reid_core.testing import LossConformance

GOOD = """
import torch
from torch import nn
from torch.nn import functional as F

class Example(nn.Module):
    def __init__(self, *, num_classes: int, feature_dim: int):
        super().__init__()
        self.centres = nn.Parameter(torch.randn(num_classes, feature_dim))
        self.last = torch.zeros(())

    def forward(self, output, batch):
        features, logits = output.features["global"], output.logits["global"]
        distances = (features - self.centres[batch.pids]).square().sum(dim=1)
        loss = distances.mean() + F.cross_entropy(logits, batch.pids)
        self.last = loss.detach()
        return loss

    def metrics(self):
        return {"value": self.last}

    def parameter_groups(self):
        return [{"params": [self.centres]}]
"""
END = "return loss"
START = 'features, logits = output.features["global"], output.logits["global"]'
METRICS = '{"value": self.last}'

FAULTS = {
    "it returns a value a sample": (
        "test_value_is_a_float32_scalar", END, "return distances",
        r"returns \(12,\) float32; expected a scalar",
    ),
    "it returns a number": (
        "test_value_is_a_float32_scalar", END, "return loss.item()", "returns a float; expected",
    ),
    "it returns another precision": (
        "test_value_is_a_float32_scalar", END, "return loss.double()",
        r"the loss is \(\) float64; expected \(\) float32",
    ),
    "it is below its minimum": (
        "test_value_is_a_float32_scalar", END, "return -loss", "below its minimum 0.0; if it may",
    ),
    "it is not finite without positives": (
        "test_degenerate_batches_are_finite", END,
        "same = (batch.pids[:, None] == batch.pids) & ~torch.eye(len(batch), dtype=torch.bool);"
        " return loss + torch.cdist(features, features)[same].mean()",
        "is nan when no two images are of one identity",
    ),
    "it is not finite without negatives": (
        "test_degenerate_batches_are_finite", END,
        "other = batch.pids[:, None] != batch.pids;"
        " return loss + torch.cdist(features, features)[other].mean()",
        "is nan when all images are of one identity",
    ),
    "its gradient is not finite for equal features": (
        "test_degenerate_batches_are_finite", END,
        "a, b = torch.triu_indices(len(batch), len(batch), 1);"
        " return loss + (features[a] - features[b]).square().sum(dim=1).sqrt().mean()",
        "gradient that is not finite when all features are equal",
    ),
    "it fails without positives": (
        "test_degenerate_batches_are_finite", END,
        "same = (batch.pids[:, None] == batch.pids) & ~torch.eye(len(batch), dtype=torch.bool);"
        " return loss + torch.cdist(features, features)[same].max()",
        "raised RuntimeError when no two images are of one identity",
    ),
    "it weighs samples by their place": (
        "test_order_of_the_samples_does_not_matter", END,
        "return loss + (distances * torch.arange(len(batch))).mean()",
        "depends on the order of the samples",
    ),
    "it reads pids as numbers": (
        "test_names_of_the_identities_do_not_matter", END,
        "return loss + (distances * batch.pids).mean()",
        "depends on which number an identity has",
    ),
    "it hides a factor from the gradient": (
        "test_gradient_is_the_derivative", END, "return loss * loss.detach()",
        r"its gradient is not the derivative .* with respect to features\['global'\]",
    ),
    "it converts down": (
        "test_gradient_is_the_derivative", END, "return loss.float()",
        "for float64 features it returns",
    ),
    "it mixes dtypes": (
        "test_gradient_is_the_derivative", END,
        "return loss + (features @ torch.ones(16, 1)).mean()",
        r"mixes another dtype with the float64 features of this check \(.*\); make tensors like",
    ),
    "it changes the features": (
        "test_input_is_left_alone", START, f"{START}; features.data.mul_(2)",
        r"changes features\['global'\] in place",
    ),
    "its metrics are numbers": (
        "test_metrics_are_detached_scalars", METRICS, '{"value": 1.0}',
        r"metrics\(\)\['value'\] is a float",
    ),
    "its metrics keep the graph": (
        "test_metrics_are_detached_scalars", "loss.detach()", "loss", "is not detached",
    ),
    "its metrics are no mapping": (
        "test_metrics_are_detached_scalars", METRICS, "[self.last]", "metrics.. returns a list",
    ),
    "its groups leave a parameter out": (
        "test_parameter_groups_cover_its_parameters", "[self.centres]", "[]",
        "leaves out centres",
    ),
    "its groups give a parameter twice": (
        "test_parameter_groups_cover_its_parameters", "[self.centres]", "[self.centres] * 2",
        "gives centres more than once",
    ),
    "its parameter is not trained": (
        "test_gradients_reach_first_and_last_parameter", "self.centres[batch.pids]",
        "self.centres.detach()[batch.pids]", "no gradient reaches the parameter 'centres'",
    ),
    "it gives no gradient": (
        "test_gradients_reach_the_features", END, "return loss.detach()",
        "its value has no gradient",
    ),
    "it gives its parameters no gradient": (
        "test_gradients_reach_first_and_last_parameter", END, "return loss.detach()",
        "its output has no gradient",
    ),
}  # fmt: skip


def test_a_good_loss_passes_every_check(installed_component, run_all_checks) -> None:
    assert run_all_checks(installed_component(LossConformance, GOOD)) == 19


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_found(installed_component, run_check, fault: str) -> None:
    check, old, new, message = FAULTS[fault]
    component = installed_component(LossConformance, GOOD, old, new)
    with pytest.raises(AssertionError, match=message):
        run_check(component, check)


def test_another_value_than_the_reference_is_found(installed_component, run_check) -> None:
    component = installed_component(LossConformance, GOOD)
    component.reference = lambda output, batch: 2.5
    with pytest.raises(AssertionError, match=r"the loss is .*, the reference gives 2\.5"):
        run_check(component, "test_equals_the_reference")


def test_a_loss_with_another_minimum_says_so(installed_component, run_check) -> None:
    component = installed_component(LossConformance, GOOD, END, "return -loss", minimum=-1000.0)
    run_check(component, "test_value_is_a_float32_scalar")


def test_a_gradient_that_is_stopped_on_purpose_says_so(installed_component, run_check) -> None:
    component = installed_component(
        LossConformance, GOOD, END, "return loss * loss.detach()", has_exact_gradient=False
    )
    run_check(component, "test_gradient_is_the_derivative")


def test_a_loss_without_class_scores_passes(installed_component, run_all_checks) -> None:
    source = GOOD.replace(" + F.cross_entropy(logits, batch.pids)", "")
    run_all_checks(installed_component(LossConformance, source))


def test_every_check_has_a_fault_that_it_finds(own_checks) -> None:
    found = {check for check, *_ in FAULTS.values()}
    # The comparison with a reference has a test of its own above.
    assert own_checks(LossConformance) <= {*found, "test_equals_the_reference"}
