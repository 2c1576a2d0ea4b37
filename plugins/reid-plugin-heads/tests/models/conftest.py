"""What the tests of the models share."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase

import pytest
import torch
from torch import Tensor

from reid_core.contracts import HeadOutput, ReidModel
from reid_core.models.build import TRAINING_ONLY_KEYS
from reid_core.testing import tiny_reid_batch


@pytest.fixture
def used() -> Callable[[ReidModel], ReidModel]:
    """Give a model weights and statistics that are not those of the start, each its own."""

    def use(model: ReidModel) -> ReidModel:
        torch.manual_seed(1)
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.requires_grad:
                    parameter += 0.2 * torch.randn_like(parameter)
            for seed in range(3):
                model(tiny_reid_batch(seed=seed))
        return model.eval()

    return use


@pytest.fixture
def output_of() -> Callable[..., HeadOutput]:
    """Return what the head makes of a batch of 16 images and 4 identities."""

    def output(model: ReidModel, **conditions: Tensor) -> HeadOutput:
        batch = tiny_reid_batch()
        found = model.head(model.backbone(batch.images, **conditions), batch.pids)
        assert isinstance(found, HeadOutput)
        return found

    return output


@pytest.fixture
def check_model() -> Callable[..., None]:
    """Train one step, and build the model again without classes."""

    def check(build: Callable[[int | None], ReidModel]) -> None:
        torch.manual_seed(0)
        model, batch = build(4), tiny_reid_batch()
        torch.stack(list(model(batch).losses.values())).sum().backward()
        idle = [
            name
            for name, parameter in model.named_parameters()
            if parameter.requires_grad and (parameter.grad is None or not parameter.grad.any())
        ]
        assert not idle
        lean = build(None).eval()
        kept = {
            name: value
            for name, value in model.state_dict().items()
            if not any(fnmatchcase(name, pattern) for pattern in TRAINING_ONLY_KEYS)
        }
        assert not any("classifier" in name for name, _ in lean.named_parameters())
        lean.load_state_dict(kept, strict=True)
        embeddings = model.eval()(batch)
        assert embeddings.shape == (16, model.embedding_dim)
        assert embeddings.dtype == torch.float32
        assert torch.equal(lean(batch), embeddings)

    return check
