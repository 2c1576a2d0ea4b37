import pytest

from reid_core.testing import ModelConformance

GOOD = """
import torch
from reid_core import ReidModel, TrainOutput
from torch import nn

class Example(ReidModel):
    def __init__(self, *, backbone, head, losses, num_classes):
        super().__init__()
        self.backbone, self.head = backbone, head
        self.losses = nn.ModuleList(entry.loss for entry in losses)

    def embed(self, images):
        return self.head(self.backbone(images)).embedding

    def forward(self, batch):
        if not self.training:
            return self.embed(batch.images)
        output = self.head(self.backbone(batch.images), batch.pids)
        total = torch.stack([loss(output, batch) for loss in self.losses]).sum()
        return TrainOutput({"all": total})
"""
OUTPUT = 'TrainOutput({"all": total})'
EMBEDDED = "return self.head(self.backbone(images)).embedding"
EVALUATED = "return self.embed(batch.images)"

FAULTS = {
    "it is only a module": (
        "test_is_a_model", "Example(ReidModel)", "Example(nn.Module)",
        "expected a reid_core.ReidModel",
    ),
    "it returns a tensor in training": (
        "test_losses_are_finite_scalars", OUTPUT, "total", "expected a reid_core.TrainOutput",
    ),
    "it has no losses": (
        "test_losses_are_finite_scalars", OUTPUT, "TrainOutput({})", "with at least one loss",
    ),
    "its loss is no scalar": (
        "test_losses_are_finite_scalars", OUTPUT, 'TrainOutput({"all": total[None]})',
        r"the loss 'all' is \(1,\) float32",
    ),
    "its loss is not finite": (
        "test_losses_are_finite_scalars", OUTPUT, 'TrainOutput({"all": total / 0})', "not finite",
    ),
    "its embeddings are double": (
        "test_embeddings_are_float32_vectors", EMBEDDED, f"{EMBEDDED}.double()", "float64",
    ),
    "it evaluates otherwise than it embeds": (
        "test_embeddings_are_float32_vectors", EVALUATED, f"{EVALUATED} * 2",
        r"embed\(images\) differs from model\(batch\)",
    ),
    "it returns no embeddings in evaluation": (
        "test_embeddings_are_float32_vectors", EVALUATED, "return {}",
        r"returns a dict; expected embeddings \(B, D\)",
    ),
    "its classes are called otherwise": (
        "test_is_built_without_classes", "self.backbone, self.head = backbone, head",
        "self.backbone, self.head = backbone, head; self.more = nn.Linear(2, num_classes or 1)"
        " if num_classes else None",
        "lacks more.bias, more.weight",
    ),
    "it averages over the batch": (
        "test_evaluation_of_a_sample_is_independent_of_its_batch", EVALUATED,
        "e = self.embed(batch.images); return e - e.mean(dim=0)", "depends on the others",
    ),
    "it freezes its backbone by mistake": (
        "test_gradients_reach_first_and_last_parameter", "self.backbone(batch.images), batch.pids",
        "self.backbone(batch.images).detach(), batch.pids",
        "no gradient reaches the parameter 'backbone.conv.weight'",
    ),
}  # fmt: skip


def test_a_good_model_passes_every_check(installed_component, run_all_checks) -> None:
    assert run_all_checks(installed_component(ModelConformance, GOOD)) == 14


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_found(installed_component, run_check, fault: str) -> None:
    check, old, new, message = FAULTS[fault]
    component = installed_component(ModelConformance, GOOD, old, new)
    with pytest.raises(AssertionError, match=message):
        run_check(component, check)


def test_every_check_has_a_fault_that_it_finds(own_checks) -> None:
    assert own_checks(ModelConformance) <= {check for check, *_ in FAULTS.values()}
