"""The checks of a model."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatch
from typing import ClassVar

import torch
from torch import Tensor, nn

from reid_core.contracts import Batch, ReidModel, TrainOutput
from reid_core.models.build import TRAINING_ONLY_KEYS
from reid_core.models.conditions import condition_values
from reid_core.testing.batches import tiny_reid_batch
from reid_core.testing.module import EmbeddingConformance
from reid_core.testing.randomness import seeded
from reid_core.testing.tensors import describe
from reid_core.testing.tiny_model import tiny_parts


class ModelConformance(EmbeddingConformance):
    """The checks of a model: how backbone, head and losses are composed.

    Attributes:
        image_size: Height and width in pixels.
        num_classes: Identities of the training set.
    """

    kind = "models"
    image_size: ClassVar[tuple[int, int]] = (64, 32)
    num_classes: ClassVar[int] = 4

    def parts(self, num_classes: int | None) -> Mapping[str, object]:
        """Return backbone, head and losses; override it for a model that needs others.

        Args:
            num_classes: Training identities; None for a model that only embeds.
        """
        return tiny_parts(num_classes)

    def context(self) -> dict[str, object]:
        """Return the parts and the sizes."""
        sizes = {"num_classes": self.num_classes, "image_size": self.image_size}
        return {**self.parts(self.num_classes), **sizes}

    def run(self, module: nn.Module, rows: int) -> dict[str, Tensor]:
        """Return the losses in training, the embeddings in evaluation."""
        batch = tiny_reid_batch(
            identities=rows if rows < 2 else rows // 2,
            instances=1 if rows < 2 else 2,
            image_size=self.image_size,
        )
        with self.attempt(f"on a batch of {rows} images", "expected model(batch) to work"):
            output = module(batch)
        if not module.training:
            self.require(
                isinstance(output, Tensor),
                f"in evaluation mode it returns {describe(output)}; expected embeddings (B, D)",
            )
            return {"the embeddings": output}
        self.require(
            isinstance(output, TrainOutput) and bool(output.losses),
            f"in training mode it returns {describe(output)}; expected a reid_core.TrainOutput "
            "with at least one loss",
        )
        return {f"the loss {name!r}": value for name, value in output.losses.items()}

    # Checks.

    def test_is_a_model(self) -> None:
        """It derives from ``reid_core.ReidModel``."""
        model = self.build_module()
        self.require(
            isinstance(model, ReidModel), f"it is {describe(model)}; expected a reid_core.ReidModel"
        )

    def test_losses_are_finite_scalars(self) -> None:
        """In training mode ``model(batch)`` gives named float32 scalars."""
        for name, value in self.run_seeded(self.build_module()).items():
            self._require_floats(value, name, ())

    def test_embeddings_are_float32_vectors(self) -> None:
        """``embed`` gives (B, D) float32, and evaluation mode the same."""
        model = self.build_module().eval()
        for rows in (1, 4):
            called = self._evaluate(model, rows)["the embeddings"]
            batch = tiny_reid_batch(
                identities=rows if rows < 2 else rows // 2,
                instances=1 if rows < 2 else 2,
                image_size=self.image_size,
            )
            with torch.no_grad():
                embedded = self._embed(model, batch)
            width = embedded.shape[-1] if isinstance(embedded, Tensor) and embedded.dim() else 0
            self._require_floats(embedded, "the result of embed(images)", (rows, width))
            self._require_equal(
                {"embed(images)": embedded},
                {"embed(images)": called},
                "{name} differs from model(batch) in evaluation mode",
            )

    def test_is_built_without_classes(self) -> None:
        """A model that only embeds takes the weights of a trained one, but for the classifier."""
        whole = set(self.build_module().state_dict())
        embedder = self.build_module(0, **{**self.parts(None), "num_classes": None}).eval()
        lean = set(embedder.state_dict())
        patterns = TRAINING_ONLY_KEYS
        left = [k for k in whole - lean if not any(fnmatch(k, pattern) for pattern in patterns)]
        self.require(
            lean <= whole and not left,
            f"built with num_classes=None its state has {len(lean - whole)} keys more and lacks "
            f"{', '.join(sorted(left)) or 'none'}; expected those of a trained model without "
            f"{' and '.join(patterns)}",
        )
        with seeded(0), torch.no_grad():
            self._embed(embedder, tiny_reid_batch(image_size=self.image_size))

    def _embed(self, model: nn.Module, batch: Batch) -> Tensor:
        """Call ``embed`` as the evaluation does."""
        conditions = condition_values(batch, getattr(model, "conditions", ()))
        embedded: object = model.embed(batch.images, **conditions)  # type: ignore[operator]
        self.require(
            isinstance(embedded, Tensor), f"embed gives {describe(embedded)}; expected a tensor"
        )
        assert isinstance(embedded, Tensor)
        return embedded
