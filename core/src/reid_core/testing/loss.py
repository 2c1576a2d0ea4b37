"""The checks of a loss."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.autograd.gradcheck import GradcheckError, gradcheck

from reid_core.contracts import Batch, HeadOutput
from reid_core.testing.batches import tiny_reid_batch
from reid_core.testing.failure import ConformanceError
from reid_core.testing.head_outputs import map_output, permute_classes, take_rows
from reid_core.testing.module import ModuleConformance
from reid_core.testing.randomness import seeded
from reid_core.testing.tensors import describe, random_normal

#: Relative difference that another order of additions may make in float32.
_TOLERANCE = 1e-4
#: What torch says when two dtypes meet that should be one.
_CLASH = re.compile(r"dtype|scalar type|same type|Float|Double")


class LossConformance(ModuleConformance):
    """The checks of a loss: a :class:`HeadOutput` and its batch to a float32 scalar.

    Attributes:
        minimum: The least value the loss can have.
        num_classes: Training identities; a size that no other dimension has, since the check of
            relabelling permutes every parameter along the dimensions of this size.
        feature_dim: Length D of features and embedding.
        branches: Names of the head's branches.
        has_exact_gradient: False for a loss that stops gradients on purpose, so that its gradient
            is not the derivative of its value.
    """

    kind = "losses"
    minimum: ClassVar[float] = 0.0
    num_classes: ClassVar[int] = 7
    feature_dim: ClassVar[int] = 16
    branches: ClassVar[tuple[str, ...]] = ("global",)
    has_exact_gradient: ClassVar[bool] = True

    # What an author may add or replace.

    def reference(self, output: HeadOutput, batch: Batch) -> float | None:
        """Return the value by a slow and obvious computation; None leaves the comparison out."""
        return None

    def context(self) -> dict[str, object]:
        """Return the sizes of features and labels."""
        return {"num_classes": self.num_classes, "feature_dim": self.feature_dim}

    def batch(self) -> Batch:
        """Return the batch: 4 identities with 3 images each."""
        return tiny_reid_batch(identities=4, instances=3, image_size=(8, 8))

    def output(self, rows: int) -> HeadOutput:
        """Return what a head makes of ``rows`` images, float32."""
        vectors = {
            name: random_normal((rows, self.feature_dim), seed)
            for seed, name in enumerate(self.branches)
        }
        logits = {
            name: random_normal((rows, self.num_classes), 100 + seed)
            for seed, name in enumerate(self.branches)
        }
        return HeadOutput(embedding=next(iter(vectors.values())), features=vectors, logits=logits)

    def run(self, module: nn.Module, rows: int) -> dict[str, Tensor]:
        """Call the loss on the batch; ``rows`` does not matter."""
        batch = self.batch()
        output = map_output(self.output(len(batch)), lambda value: value.requires_grad_())
        return {"the loss": self._value(module, output, batch)}

    # Checks.

    def test_value_is_a_float32_scalar(self) -> None:
        """The value is one finite number, not below the minimum."""
        value = self.run_seeded(self.build_module())["the loss"]
        self._require_floats(value, "the loss", ())
        self.require(
            value.item() >= self.minimum - 1e-6,
            f"the loss is {value.item():.6g}, below its minimum {self.minimum}; if it may be, set "
            "`minimum` in the class",
        )

    def test_equals_the_reference(self) -> None:
        """The value is the one of the author's slow reference, where there is one."""
        batch = self.batch()
        output = self.output(len(batch))
        with seeded(0):
            expected = self.reference(output, batch)
        if expected is None:
            return
        value = self._number(self.build_module(), output, batch)
        self.require(
            abs(value - expected) <= _TOLERANCE * max(1.0, abs(expected)),
            f"the loss is {value:.7g}, the reference gives {expected:.7g}",
        )

    def test_degenerate_batches_are_finite(self) -> None:
        """One identity, no positives, equal features: loss and gradient stay finite."""
        batch = self.batch()
        rows = len(batch)
        output = self.output(rows)
        one = replace(batch, pids=torch.zeros_like(batch.pids))
        alone = replace(batch, pids=torch.arange(rows) % self.num_classes)
        few = take_rows(alone, torch.arange(min(rows, self.num_classes)))
        equal = map_output(output, lambda value: torch.ones_like(value))
        self._check_finite("when all images are of one identity", output, one)
        self._check_finite(
            "when no two images are of one identity",
            map_output(output, lambda v: v[: len(few)]),
            few,
        )
        self._check_finite("when all features are equal", equal, batch)

    def test_order_of_the_samples_does_not_matter(self) -> None:
        """Loss of a permuted batch is the loss of the batch."""
        batch, module = self.batch(), self.build_module()
        output = self.output(len(batch))
        order = torch.randperm(len(batch), generator=torch.Generator().manual_seed(0))
        permuted = take_rows(batch, order)
        self._require_same_value(
            self._number(module, output, batch),
            self._number(self.build_module(), map_output(output, lambda v: v[order]), permuted),
            "depends on the order of the samples; expected the same value for a permuted batch",
        )

    def test_names_of_the_identities_do_not_matter(self) -> None:
        """Loss of relabelled identities, class scores relabelled too, is the same."""
        batch, module = self.batch(), self.build_module()
        output = self.output(len(batch))
        new = torch.randperm(self.num_classes, generator=torch.Generator().manual_seed(1))
        old = torch.argsort(new)
        relabelled = replace(
            output, logits={name: value[:, old] for name, value in output.logits.items()}
        )
        other = self.build_module()
        permute_classes(other, old)
        self._require_same_value(
            self._number(module, output, batch),
            self._number(other, relabelled, replace(batch, pids=new[batch.pids])),
            "depends on which number an identity has; compare pids for equality only",
        )

    def test_gradients_reach_the_features(self) -> None:
        """There is something to train on."""
        value = self.run_seeded(self.build_module())["the loss"]
        self.require(
            value.requires_grad,
            "its value has no gradient, so nothing would be trained; remove detach(), no_grad() "
            "and conversions to NumPy or numbers",
        )

    def test_gradient_is_the_derivative(self) -> None:
        """In float64 on a small input the gradient equals the difference quotient."""
        if not self.has_exact_gradient:
            return
        batch = self.batch()
        output = map_output(self.output(len(batch)), lambda v: v.double().requires_grad_())
        module = self.build_module().double()
        names = [
            *(("features", n) for n in output.features),
            *(("logits", n) for n in output.logits),
            *([] if output.attributes is None else [("attributes", "")]),
        ]

        def value(*tensors: Tensor) -> Tensor:
            given = dict(zip(names, tensors, strict=True))
            features = {n: given["features", n] for n in output.features}
            logits = {n: given["logits", n] for n in output.logits}
            embedding = next(iter(features.values()), output.embedding)
            # A copy: a loss that keeps running statistics is another function at its second call.
            with seeded(0):
                changed = HeadOutput(
                    embedding, features, logits, attributes=given.get(("attributes", ""))
                )
                loss: Tensor = copy.deepcopy(module)(changed, batch)
            return loss

        inputs = _leaves(output)
        first = self._in_float64(lambda: value(*inputs))
        self.require(
            first.dtype == torch.float64,
            f"for float64 features it returns {describe(first)}; compute in at least float32, and "
            "do not convert float64 down: x.to(torch.promote_types(x.dtype, torch.float32))",
        )
        try:
            gradcheck(value, inputs, eps=1e-6, atol=1e-5, rtol=1e-3)
        except GradcheckError as error:
            self.fail(
                f"its gradient is not the derivative of its value {_input_of(error, names)}; look "
                "for detach(), .data and in-place changes, or set has_exact_gradient = False if it "
                "is meant"
            )

    def test_input_is_left_alone(self) -> None:
        """Features and class scores are not changed in place: other losses read them too."""
        batch = self.batch()
        output = self.output(len(batch))
        before = map_output(output, torch.clone)
        self._value(self.build_module(), output, batch)
        for group in ("features", "logits"):
            for name, value in getattr(output, group).items():
                self.require(
                    torch.equal(value, getattr(before, group)[name]),
                    f"it changes {group}[{name!r}] in place; other losses read it after this one",
                )

    def test_metrics_are_detached_scalars(self) -> None:
        """What ``metrics()`` returns can be logged and keeps no graph alive."""
        module = self.build_module()
        report = getattr(module, "metrics", None)
        if not callable(report):
            return
        batch = self.batch()
        output = map_output(self.output(len(batch)), lambda value: value.requires_grad_())
        self._value(module, output, batch)
        metrics = report()
        self.require(
            isinstance(metrics, Mapping),
            f"metrics() returns {describe(metrics)}; expected scalar tensors by name",
        )
        for name, value in metrics.items():
            is_scalar = isinstance(value, Tensor) and value.dim() == 0
            self.require(
                is_scalar, f"metrics()[{name!r}] is {describe(value)}; expected a scalar tensor"
            )
            self.require(
                not value.requires_grad,
                f"metrics()[{name!r}] is not detached; add .detach(), or the graph of every step "
                "stays in memory",
            )

    def test_parameter_groups_cover_its_parameters(self) -> None:
        """``parameter_groups()``, where there is one, hands over each parameter exactly once."""
        module = self.build_module()
        groups = getattr(module, "parameter_groups", None)
        if not callable(groups):
            return
        given = [id(parameter) for group in groups() for parameter in group["params"]]
        names = {id(p): name for name, p in module.named_parameters() if p.requires_grad}
        missing = [name for key, name in names.items() if key not in given]
        self.require(
            not missing,
            f"parameter_groups() leaves out {', '.join(missing)}; expected every parameter that "
            "is trained",
        )
        twice = {names.get(key, "?") for key in given if given.count(key) > 1}
        self.require(
            not twice, f"parameter_groups() gives {', '.join(sorted(twice))} more than once"
        )

    # Helpers.

    def _in_float64(self, call: Callable[[], Tensor]) -> Tensor:
        try:
            return call()
        except RuntimeError as error:
            reason = str(error).partition("\n")[0]
            if _CLASH.search(reason) is None:
                raise
            raise ConformanceError(
                f"{self._what()}: mixes another dtype with the float64 features of this check "
                f"({reason}); make tensors like the features (features.new_zeros(...), "
                "labels.to(features.dtype)), and register constants as buffers, which .double() "
                "converts"
            ) from error

    def _value(self, module: nn.Module, output: HeadOutput, batch: Batch) -> Tensor:
        with self.attempt(
            "on a batch of 4 identities with 3 images each",
            "expected forward(output, batch); override output() or batch() if it needs more",
        ):
            value = module(output, batch)
        self.require(
            isinstance(value, Tensor) and value.dim() == 0,
            f"it returns {describe(value)}; expected a scalar tensor, for example the mean over "
            "the batch",
        )
        assert isinstance(value, Tensor)
        return value

    def _number(self, module: nn.Module, output: HeadOutput, batch: Batch) -> float:
        with seeded(0), torch.no_grad():
            return self._value(module, output, batch).item()

    def _require_same_value(self, left: float, right: float, message: str) -> None:
        self.require(
            abs(left - right) <= _TOLERANCE * max(1.0, abs(left)),
            f"{message} (got {left:.7g} and {right:.7g})",
        )

    def _check_finite(self, when: str, output: HeadOutput, batch: Batch) -> None:
        leaves = map_output(output, lambda value: value.clone().requires_grad_())
        advice = "expected a finite value, 0 where there is nothing to compare"
        with self.attempt(when, advice), seeded(0):
            value = self.build_module()(leaves, batch)
        self.require(bool(torch.isfinite(value)), f"is {value.item()} {when}; {advice}")
        if not value.requires_grad:
            return
        for gradient in torch.autograd.grad(value, _leaves(leaves), allow_unused=True):
            self.require(
                gradient is None or bool(torch.isfinite(gradient).all()),
                f"has a gradient that is not finite {when}; clamp below the root or logarithm",
            )


def _leaves(output: HeadOutput) -> tuple[Tensor, ...]:
    """Return all that a loss can read and that has a gradient."""
    attributes = () if output.attributes is None else (output.attributes,)
    return (*output.features.values(), *output.logits.values(), *attributes)


def _input_of(error: Exception, names: list[tuple[str, str]]) -> str:
    """Say which input a failed comparison of gradients is about; the rest of it is numbers."""
    found = re.search(r"with respect to input (\d+)", str(error))
    if found is None:
        return f"({str(error).partition(chr(10))[0]})"
    group, name = names[int(found[1])]
    return f"with respect to {group}[{name!r}]" if name else f"with respect to {group}"
