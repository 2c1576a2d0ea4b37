import pytest

from reid_core.testing import HeadConformance

GOOD = """
import torch
from reid_core import HeadOutput
from torch import nn

class Example(nn.Module):
    def __init__(self, *, feature_dim: int, num_classes: int | None):
        super().__init__()
        self.embedding_dim = feature_dim
        self.norm = nn.BatchNorm1d(feature_dim)
        self.classifier = None
        if num_classes is not None:
            self.classifier = nn.Linear(feature_dim, num_classes)

    def forward(self, features, pids=None):
        pooled = self.norm(features.mean(dim=(2, 3)))
        logits = {}
        if self.training and self.classifier is not None:
            logits["global"] = self.classifier(pooled)
        return HeadOutput(embedding=pooled, features={"global": pooled}, logits=logits)
"""
POOLED = "pooled = self.norm(features.mean(dim=(2, 3)))"
LOGITS = 'logits["global"] = self.classifier(pooled)'
OUTPUT = 'HeadOutput(embedding=pooled, features={"global": pooled}, logits=logits)'
ANNOUNCED = "self.embedding_dim = feature_dim"
CLASSIFIER = "self.classifier = nn.Linear(feature_dim, num_classes)"

FAULTS = {
    "it returns a tensor": (
        "test_output_in_training", OUTPUT, "pooled", "expected a reid_core.HeadOutput",
    ),
    "it announces no embedding_dim": (
        "test_output_in_evaluation", ANNOUNCED, "pass", "embedding_dim is None",
    ),
    "it announces another embedding_dim": (
        "test_output_in_evaluation", ANNOUNCED, "self.embedding_dim = 7",
        r"the embedding in evaluation on a map is \(1, 32\) float32; expected \(1, 7\) float32",
    ),
    "its embedding has another precision": (
        "test_output_in_evaluation", "embedding=pooled", "embedding=pooled.half()", "float16",
    ),
    "its embedding is not finite": (
        "test_output_in_evaluation", "embedding=pooled", "embedding=pooled / 0", "not finite",
    ),
    "its features have no names": (
        "test_output_in_training", 'features={"global": pooled}', "features=pooled",
        "expected tensors by name",
    ),
    "its features are not vectors": (
        "test_output_in_training", '{"global": pooled}', '{"global": features}',
        r"features\['global'\] in training on a map is \(4, 32, 4, 3\)",
    ),
    "its logits have another number of classes": (
        "test_output_in_training", LOGITS, 'logits["global"] = pooled',
        r"logits\['global'\] is \(4, 32\) float32; expected \(4, 5\)",
    ),
    "its logits have another name than its features": (
        "test_output_in_training", LOGITS, 'logits["classes"] = self.classifier(pooled)',
        "expected the same names",
    ),
    "it forgets its logits": (
        "test_output_in_training", LOGITS, "pass", "it has a classifier but gives no logits",
    ),
    "it needs labels to embed": (
        "test_output_in_evaluation", POOLED, f"{POOLED} + 0 * pids[0]",
        "raised TypeError on .* in evaluation mode",
    ),
    "its classifier is called otherwise": (
        "test_is_built_without_classes", CLASSIFIER,
        "self.fc = nn.Linear(feature_dim, num_classes)",
        "only the head with classes has fc.weight, fc.bias; name what belongs",
    ),
    "it builds a classifier in any case": (
        "test_is_built_without_classes", "self.classifier = None",
        "self.other_classifier = nn.Linear(feature_dim, num_classes or 1); self.classifier = None",
        "built with num_classes=None .* differ from those of a trained head",
    ),
    "it keeps a classifier": (
        "test_is_built_without_classes", "self.classifier = None",
        "self.classifier_norm = nn.Linear(feature_dim, 3); self.classifier = None",
        "built with num_classes=None it still has classifier_norm.weight",
    ),
    "it gives logits without classes": (
        "test_is_built_without_classes", "logits=logits", 'logits=logits or {"global": pooled}',
        "built with num_classes=None it gives logits",
    ),
    "it is laid out otherwise without classes": (
        "test_is_built_without_classes", "self.classifier = None",
        "self.more = nn.Linear(2, 2) if num_classes is None else None; self.classifier = None",
        "its state holds more.bias, more.weight",
    ),
    "it cannot do without classes": (
        "test_is_built_without_classes", "if num_classes is not None:", "if True:",
        "raised TypeError when it was built",
    ),
    "its features are cut off": (
        "test_gradients_reach_the_features", '{"global": pooled}', '{"global": pooled.detach()}',
        r"no gradient flows from features\['global'\]",
    ),
    "it averages over the batch": (
        "test_evaluation_of_a_sample_is_independent_of_its_batch", POOLED,
        f"{POOLED}; pooled = pooled - pooled.mean(dim=0)",
        "the embedding of a sample depends on the others",
    ),
}  # fmt: skip


def test_a_good_head_passes_every_check(installed_component, run_all_checks) -> None:
    assert run_all_checks(installed_component(HeadConformance, GOOD)) == 14


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_found(installed_component, run_check, fault: str) -> None:
    check, old, new, message = FAULTS[fault]
    component = installed_component(HeadConformance, GOOD, old, new)
    with pytest.raises(AssertionError, match=message):
        run_check(component, check)


def test_a_head_for_tokens_passes_when_it_says_so(installed_component, run_all_checks) -> None:
    tokens = GOOD.replace("features.mean(dim=(2, 3))", "features.mean(dim=1)")
    run_all_checks(installed_component(HeadConformance, tokens, inputs=("tokens",)))


def test_a_head_that_does_not_take_what_it_says_is_found(installed_component, run_check) -> None:
    component = installed_component(HeadConformance, GOOD, inputs=("map", "tokens"))
    with pytest.raises(
        AssertionError, match=r"on \(4, 7, 32\) float32 in training (.|\n)* set inputs"
    ):
        run_check(component, "test_output_in_training")


def test_a_head_without_classifier_passes(installed_component, run_all_checks) -> None:
    run_all_checks(
        installed_component(HeadConformance, GOOD, "if num_classes is not None:", "if 0:")
    )


def test_every_check_has_a_fault_that_it_finds(own_checks) -> None:
    found = {check for check, *_ in FAULTS.values()}
    assert own_checks(HeadConformance) <= found
