import pytest

from reid_core.testing import BackboneConformance
from reid_core.testing.module import EmbeddingConformance, ModuleConformance

GOOD = """
import threading
import numpy as np
import torch
from torch import nn

class Example(nn.Module):
    num_prefix_tokens = None

    def __init__(self, *, width: int = 4):
        super().__init__()
        self.feature_dim = width
        self.conv = nn.Conv2d(3, width, 3, stride=4)
        self.norm = nn.BatchNorm2d(width)
        self.extra = None

    def forward(self, images):
        features = self.norm(self.conv(images)).relu()
        return features
"""
INIT = "self.extra = None"
END = "return features"

FAULTS = {
    "it returns several tensors": (
        "test_shapes_and_dtypes", END, "return features, features",
        "returns a tuple; expected one tensor",
    ),
    "it announces no feature_dim": (
        "test_shapes_and_dtypes", "self.feature_dim = width", "pass", "feature_dim is None",
    ),
    "it announces another feature_dim": (
        "test_shapes_and_dtypes", "self.feature_dim = width", "self.feature_dim = 5",
        r"returns \(1, 4, 64, 32\) float32; expected a map \(1, feature_dim = 5, h, w\)",
    ),
    "it announces tokens and returns a map": (
        "test_shapes_and_dtypes", "num_prefix_tokens = None", "num_prefix_tokens = 1",
        "expected tokens .* a map needs num_prefix_tokens = None",
    ),
    "it announces a wrong number of prefix tokens": (
        "test_shapes_and_dtypes", "num_prefix_tokens = None", "num_prefix_tokens = 'one'",
        "num_prefix_tokens is 'one'",
    ),
    "it returns another precision": (
        "test_shapes_and_dtypes", END, "return features.double()", "float64; expected float32",
    ),
    "it returns numbers that are not finite": (
        "test_shapes_and_dtypes", END, "return features / 0", "the output is not finite",
    ),
    "it takes one size only": (
        "test_shapes_and_dtypes", END, "return features.reshape(len(images), 4, 64, 32)",
        r"raised RuntimeError on 1 images of \(64, 32\) in evaluation mode",
    ),
    "it cuts the gradient": (
        "test_gradients_reach_first_and_last_parameter", END, "return features.detach()",
        "its output has no gradient",
    ),
    "it does not use its last parameter": (
        "test_gradients_reach_first_and_last_parameter", INIT, "self.extra = nn.Linear(2, 2)",
        "no gradient reaches the parameter 'extra.bias'",
    ),
    "its last parameter is multiplied by 0": (
        "test_gradients_reach_first_and_last_parameter", "features = self.norm(self.conv(images))",
        "features = 0 * self.norm(self.conv(images)) + self.conv(images)",
        "gradient of the parameter 'norm.bias' is 0 everywhere",
    ),
    "its gradient overflows": (
        "test_gradients_reach_first_and_last_parameter", END,
        "return features + (features - features).sqrt()", "is not finite",
    ),
    "it averages over the batch in evaluation": (
        "test_evaluation_of_a_sample_is_independent_of_its_batch", END,
        "return features - features.mean(dim=0)", "depends on the others in its batch",
    ),
    "its normalisation never leaves training mode": (
        "test_evaluation_of_a_sample_is_independent_of_its_batch", "self.norm(self.conv(images))",
        "self.norm.train()(self.conv(images))", "check that eval\\(\\) reaches every batch",
    ),
    "a tensor is missing from its state": (
        "test_state_is_complete", INIT,
        "x = torch.randn(1); self.register_forward_hook(lambda module, images, out: out * x)",
        "register_buffer",
    ),
    "its state cannot be loaded": (
        "test_state_is_complete", INIT,
        "self.register_buffer('extra', torch.zeros(torch.randint(1, 99, ())))",
        "raised RuntimeError when its state was loaded",
    ),
    "it draws from a generator of its own": (
        "test_same_seed_gives_the_same", INIT,
        "g = torch.Generator(); g.seed(); nn.init.normal_(self.conv.weight, generator=g)",
        "two objects built from one seed differ",
    ),
    "it is not finite in bf16": (
        "test_bf16_is_finite", END,
        "return features + ((features.new_ones(1) + 1e-3) - 1).log()", "not finite under bf16",
    ),
    "it mixes precisions": (
        "test_bf16_is_finite", END,
        "w = torch.ones(features.numel()); return features * features.flatten().dot(w)",
        "raised RuntimeError .* but found \\w+ and \\w+(.|\n)*this was under bf16 autocast",
    ),
    "it uses NumPy's global generator": (
        "test_random_state_of_the_run_is_left_alone", END,
        "return features * np.random.rand()", "global generator of numpy",
    ),
    "it seeds the run": (
        "test_random_state_of_the_run_is_left_alone", INIT, "torch.manual_seed(0)",
        "it seeds the global generator of torch",
    ),
    "it is random in evaluation": (
        "test_random_state_of_the_run_is_left_alone", END,
        "return features + torch.rand(())", "in evaluation mode it draws",
    ),
    "it cannot be copied": (
        "test_can_be_copied", INIT, "self.extra = threading.Lock()", "in copy.deepcopy",
    ),
    "it changes its input": (
        "test_input_is_left_alone", "features = self", "images += 1; features = self",
        "changes its input in place",
    ),
    "it relies on a memory layout": (
        "test_channels_last_gives_the_same", END,
        "return features.view(len(images), -1).view(features.shape)",
        "raised RuntimeError with train.channels_last",
    ),
    "another memory layout changes the result": (
        "test_channels_last_gives_the_same", END,
        "return features * (1 if features.is_contiguous() else 2)",
        "with train.channels_last the output differs",
    ),
}  # fmt: skip


def test_a_good_backbone_passes_every_check(installed_component, run_all_checks) -> None:
    assert run_all_checks(installed_component(BackboneConformance, GOOD)) == 13


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_found(installed_component, run_check, fault: str) -> None:
    check, old, new, message = FAULTS[fault]
    component = installed_component(BackboneConformance, GOOD, old, new)
    with pytest.raises(AssertionError, match=message):
        run_check(component, check)


def test_tokens_pass_too(installed_component, run_all_checks) -> None:
    tokens = GOOD.replace("num_prefix_tokens = None", "num_prefix_tokens = 0")
    tokens = tokens.replace("return features", "return features.flatten(2).transpose(1, 2)")
    run_all_checks(installed_component(BackboneConformance, tokens))


def test_other_image_sizes_can_be_asked_for(installed_component, run_check) -> None:
    source = GOOD.replace("return features", "return features.reshape(len(images), 4, 24, 8)")
    component = installed_component(BackboneConformance, source, image_sizes=((96, 32),))
    run_check(component, "test_shapes_and_dtypes")


def test_every_check_has_a_fault_that_it_finds(own_checks) -> None:
    found = {check for check, *_ in FAULTS.values()}
    assert own_checks(BackboneConformance, EmbeddingConformance, ModuleConformance) == found
