import pytest
import torch
from torch import Tensor, nn

from reid_core.contracts import Batch, HeadOutput, TrainOutput
from reid_core.errors import PluginError
from reid_core.models import WeightedLoss
from reid_core.testing import tiny_reid_batch
from reid_core.testing.tiny_branching import TinyBranchingTransformer
from reid_plugin_heads.models.composed import ComposedModel
from reid_plugin_heads.models.splitting import split_backbone


class Head(nn.Module):
    """Remember what it was given, and return the class tokens side by side."""

    def forward(self, features: list[Tensor], pids: Tensor | None = None) -> HeadOutput:
        self.pids, self.count = pids, len(features)
        embedding = torch.cat([tokens[:, 0] for tokens in features], dim=1)
        return HeadOutput(embedding=embedding, features={"global": embedding})


class Loss(nn.Module):
    """Remember the type of what it was given."""

    def forward(self, output: HeadOutput, batch: Batch) -> Tensor:
        self.dtype = output.features["global"].dtype
        return output.features["global"].mean()


def composed(num_cameras: int | None = None) -> ComposedModel:
    torch.manual_seed(0)
    backbone = TinyBranchingTransformer(num_cameras=num_cameras)
    return ComposedModel(
        backbone=split_backbone("test", backbone, (None, None)),
        head=Head(),
        losses=[WeightedLoss("first", Loss(), 0.5), WeightedLoss("second", Loss())],
    )


def test_training_gives_the_weighted_losses_of_what_the_head_makes_of_all_branches() -> None:
    model, batch = composed(), tiny_reid_batch()
    output = model(batch)
    assert isinstance(output, TrainOutput)
    assert list(output.losses) == ["first", "second"]
    torch.testing.assert_close(output.losses["first"] * 2, output.losses["second"])
    assert model.head.count == 2
    assert model.head.pids is batch.pids


def test_evaluation_gives_embeddings_and_needs_no_labels() -> None:
    model, batch = composed().eval(), tiny_reid_batch()
    assert torch.equal(model(batch), model.embed(batch.images))
    assert model(batch).shape == (16, 32)
    assert model.head.pids is None


def test_losses_and_embeddings_are_float32_in_mixed_precision() -> None:
    model, batch = composed(), tiny_reid_batch()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        losses = model(batch).losses
        embeddings = model.eval()(batch)
    assert model.losses[0].dtype == losses["first"].dtype == embeddings.dtype == torch.float32


def test_conditions_are_those_of_the_backbone() -> None:
    assert composed().conditions == ()
    model, batch = composed(num_cameras=3).eval(), tiny_reid_batch()
    assert model.conditions == ("camids",)
    embeddings = model(batch)
    assert torch.equal(model.embed(batch.images, camids=batch.camids), embeddings)
    assert not torch.allclose(model.embed(batch.images, camids=batch.camids + 1), embeddings)


def test_what_a_model_is_not_conditioned_on_is_ignored() -> None:
    model, batch = composed().eval(), tiny_reid_batch()
    assert torch.equal(model.embed(batch.images, batch.camids, batch.camids), model(batch))


def test_a_missing_condition_is_an_error() -> None:
    with pytest.raises(PluginError, match=r"conditioned on camids, got none.*camids=codes\)"):
        composed(num_cameras=2).eval().embed(tiny_reid_batch().images)


def test_parameters_of_the_backbone_are_found_under_its_name() -> None:
    parts = {name.split(".")[0] for name, _ in composed(num_cameras=2).named_parameters()}
    assert parts == {"backbone"}
