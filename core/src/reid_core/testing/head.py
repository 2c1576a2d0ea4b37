"""The checks of a head."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatch
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from reid_core.contracts import HeadOutput
from reid_core.models.build import TRAINING_ONLY_KEYS
from reid_core.testing.module import EmbeddingConformance
from reid_core.testing.tensors import describe, random_normal

Layout = Literal["map", "tokens"]


class HeadConformance(EmbeddingConformance):
    """The checks of a head: features to a :class:`~reid_core.contracts.HeadOutput`.

    Attributes:
        inputs: What the head takes: ``"map"``, ``"tokens"`` or both; the first one serves the
            checks that need only one.
        feature_dim: Channels C of the features.
        num_prefix_tokens: Prefix tokens of the features that are tokens.
        num_classes: Identities of the training set.
    """

    kind = "heads"
    inputs: ClassVar[tuple[Layout, ...]] = ("map",)
    feature_dim: ClassVar[int] = 32
    num_prefix_tokens: ClassVar[int] = 1
    num_classes: ClassVar[int] = 5

    _layout: Layout | None = None

    def context(self) -> dict[str, object]:
        """Return the sizes of features and labels."""
        is_map = (self._layout or self.inputs[0]) == "map"
        return {
            "feature_dim": self.feature_dim,
            "num_prefix_tokens": None if is_map else self.num_prefix_tokens,
            "num_classes": self.num_classes,
        }

    def run(self, module: nn.Module, rows: int) -> dict[str, Tensor]:
        """Call the head on the features of ``rows`` images."""
        return _flat(self._forward(module, rows))

    def test_output_in_training(self) -> None:
        """Embedding, features and class scores have the shapes and names of the contract."""
        for layout in self._each_input():
            module = self.build_module()
            output = self._forward(module, 4)
            self._check_vectors(module, output, 4, f"in training on {layout}")
            self._check_logits(module, output)

    def test_output_in_evaluation(self) -> None:
        """The embedding of one image or several needs no labels."""
        for layout in self._each_input():
            module = self.build_module().eval()
            for rows in (1, 4):
                with torch.no_grad():
                    output = self._forward(module, rows)
                self._check_vectors(module, output, rows, f"in evaluation on {layout}")

    def test_is_built_without_classes(self) -> None:
        """A model that only embeds has no classifier, and everything else under the same keys."""
        whole = {key: describe(v) for key, v in self.build_module().state_dict().items()}
        embedder = self.build_module(num_classes=None).eval()
        with torch.no_grad():
            output = self._forward(embedder, 4)
        self.require(
            not output.logits, "built with num_classes=None it gives logits; expected none"
        )
        lean = {key: describe(v) for key, v in embedder.state_dict().items()}
        odd = sorted(key for key, value in lean.items() if whole.get(key) != value)
        self.require(
            not odd,
            f"built with num_classes=None its state holds {', '.join(odd)}, which differ from "
            "those of a trained head: its weights could not be loaded; build all but the "
            "classifier alike",
        )
        left = [key for key in whole if key not in lean and not _is_training_only(key)]
        self.require(
            not left,
            f"only the head with classes has {', '.join(left)}; name what belongs to the "
            "classifier with 'classifier' in it, so that it is left out when weights are loaded "
            "for embedding",
        )
        kept = [key for key in lean if _is_training_only(key)]
        self.require(
            not kept,
            f"built with num_classes=None it still has {', '.join(kept)}; build no classifier then",
        )

    def test_gradients_reach_the_features(self) -> None:
        """The backbone behind the head is trained."""
        features = self._features(4).requires_grad_()
        output = self._call(self.build_module(), features, self._labels(4))
        for name, value in _flat(output).items():
            if name.startswith("logits") and not value.requires_grad:
                continue
            (gradient,) = (
                torch.autograd.grad(
                    value.float().square().sum(), features, retain_graph=True, allow_unused=True
                )
                if value.requires_grad
                else (None,)
            )
            self.require(
                gradient is not None,
                f"no gradient flows from {name} to the features; expected it to reach the "
                "backbone: remove detach() or no_grad()",
            )

    # Helpers.

    @contextmanager
    def _as(self, layout: Layout) -> Iterator[None]:
        self._layout = layout
        try:
            yield
        finally:
            self._layout = None

    def _each_input(self) -> Iterator[str]:
        for layout in self.inputs:
            with self._as(layout):
                yield f"a {layout}" if layout == "map" else layout

    def _features(self, rows: int) -> Tensor:
        if (self._layout or self.inputs[0]) == "map":
            shape: tuple[int, ...] = (1, self.feature_dim, 4, 3)
        else:
            shape = (1, self.num_prefix_tokens + 6, self.feature_dim)
        # Positive, as behind a rectifier: some poolings take roots.
        return torch.cat([random_normal(shape, seed).abs() for seed in range(rows)])

    def _labels(self, rows: int) -> Tensor:
        return torch.arange(rows) % self.num_classes

    def _forward(self, module: nn.Module, rows: int) -> HeadOutput:
        pids = self._labels(rows) if module.training else None
        return self._call(module, self._features(rows), pids)

    def _call(self, module: nn.Module, features: Tensor, pids: Tensor | None) -> HeadOutput:
        mode = "training" if module.training else "evaluation"
        arguments = (features,) if pids is None else (features, pids)
        with self.attempt(
            f"on {describe(features)} in {mode} mode",
            "expected forward(features, pids=None); if it takes maps or tokens only, set inputs",
        ):
            output = module(*arguments)
        self.require(
            isinstance(output, HeadOutput),
            f"it returns {describe(output)}; expected a reid_core.HeadOutput",
        )
        assert isinstance(output, HeadOutput)
        return output

    def _check_vectors(self, module: nn.Module, output: HeadOutput, rows: int, when: str) -> None:
        dim = getattr(module, "embedding_dim", None)
        self.require(
            isinstance(dim, int) and dim > 0,
            f"its attribute embedding_dim is {dim!r}; expected the length of the embedding, an "
            "int above 0",
        )
        assert isinstance(dim, int)
        self._require_floats(output.embedding, f"the embedding {when}", (rows, dim))
        self._require_mapping(output.features, f"features {when}")
        if output.attributes is not None:
            width = output.attributes.shape[-1]
            self._require_floats(output.attributes, f"attributes {when}", (rows, width))
        for name, value in output.features.items():
            width = value.shape[-1] if isinstance(value, Tensor) and value.dim() else 0
            self._require_floats(value, f"features[{name!r}] {when}", (rows, width))

    def _check_logits(self, module: nn.Module, output: HeadOutput) -> None:
        self._require_mapping(output.logits, "logits in training")
        scores = {} if output.scores is None else output.scores
        self._require_mapping(scores, "scores in training")
        has_classifier = any(_is_training_only(key) for key in module.state_dict())
        self.require(
            bool(output.logits) or not has_classifier,
            "it has a classifier but gives no logits in training; expected logits by name",
        )
        for what, values in (("logits", output.logits), ("scores", scores)):
            for name, value in values.items():
                self._require_floats(value, f"{what}[{name!r}]", (4, self.num_classes))
        odd = [name for name in output.logits if output.features and name not in output.features]
        self.require(
            not odd,
            f"logits are called {', '.join(odd)}, features {', '.join(output.features)}; expected "
            'the same names, "global" for a single branch',
        )

    def _require_mapping(self, value: object, what: str) -> None:
        is_right = isinstance(value, Mapping) and all(isinstance(key, str) for key in value)
        self.require(is_right, f"{what} is {describe(value)}; expected tensors by name")


def _is_training_only(key: str) -> bool:
    return any(fnmatch(key, pattern) for pattern in TRAINING_ONLY_KEYS)


def _flat(output: HeadOutput) -> dict[str, Tensor]:
    return {
        "the embedding": output.embedding,
        **({} if output.attributes is None else {"attributes": output.attributes}),
        **{f"features[{name!r}]": value for name, value in output.features.items()},
        **{f"logits[{name!r}]": value for name, value in output.logits.items()},
    }
