"""What every component that is a ``torch.nn.Module`` must do."""

from __future__ import annotations

import copy
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from reid_core.testing.base import Conformance
from reid_core.testing.failure import ConformanceError
from reid_core.testing.randomness import reseeded_generators, seeded, used_generators
from reid_core.testing.tensors import describe, largest_difference, objective

#: Differences that the order of additions makes, in units of the largest value.
ROUNDING = 1e-3


class ModuleConformance(Conformance):
    """Gradients, state, seeds and precision of a module; each kind says how it is called."""

    # What a kind must say.

    def run(self, module: nn.Module, rows: int) -> dict[str, Tensor]:
        """Call the module on an input of ``rows`` samples; the same input each time.

        Args:
            module: What :meth:`build_module` returned, in either mode.
            rows: Samples B; the first of them do not depend on it.

        Returns:
            All floating-point outputs by name, each with B rows or scalar.
        """
        raise NotImplementedError

    # What the checks use.

    def build_module(self, seed: int = 0, **context: object) -> nn.Module:
        """Build the component from a seed, in training mode.

        Args:
            seed: Seed of the initial weights.
            **context: Replaces entries of :meth:`context`.
        """
        with seeded(seed):
            module = self.build(**context)
        if isinstance(module, nn.Module):
            return module.train()
        raise ConformanceError(
            f"{self.ref().qualified} gave a {type(module).__name__}; expected a torch.nn.Module"
        )

    def run_seeded(self, module: nn.Module, rows: int = 4, seed: int = 0) -> dict[str, Tensor]:
        """Call :meth:`run` with seeded global generators."""
        with seeded(seed):
            return self.run(module, rows)

    # Checks.

    def test_gradients_reach_first_and_last_parameter(self) -> None:
        """Nothing between input and output cuts the gradient off."""
        module = self.build_module()
        trained = [(n, p) for n, p in module.named_parameters() if p.requires_grad]
        if not trained:
            return
        total = objective(self.run_seeded(module))
        self.require(
            total.requires_grad,
            "its output has no gradient; a detach(), .data, no_grad() or a conversion to NumPy "
            "lies between input and output",
        )
        total.backward()  # type: ignore[no-untyped-call]
        for name, parameter in dict(trained[:1] + trained[-1:]).items():
            gradient = parameter.grad
            if gradient is None:
                self.fail(
                    f"no gradient reaches the parameter {name!r}; it is not used, or a detach(), "
                    ".data, no_grad() or a conversion to NumPy lies between it and the output"
                )
            self.require(
                bool(torch.isfinite(gradient).all()),
                f"the gradient of the parameter {name!r} is not finite",
            )
            self.require(
                bool(gradient.any()),
                f"the gradient of the parameter {name!r} is 0 everywhere, so it is never trained",
            )

    def test_state_is_complete(self) -> None:
        """A strict load of the state into a fresh module gives the same outputs."""
        module, fresh = self.build_module(seed=0), self.build_module(seed=1)
        with torch.no_grad():
            self.run_seeded(module)  # moves the statistics of batch normalisation, for example
        with self.attempt(
            "when its state was loaded into a second object", "expected load_state_dict to work"
        ):
            fresh.load_state_dict(module.state_dict(), strict=True)
        self._require_equal(
            self._evaluate(module),
            self._evaluate(fresh),
            "the state does not hold all that the outputs depend on: {name} differs after "
            "load_state_dict; register such tensors with register_buffer or as parameters",
        )

    def test_same_seed_gives_the_same(self) -> None:
        """Initial weights and outputs are a function of the global seed."""
        first, second = self.build_module(seed=0), self.build_module(seed=0)
        message = (
            "two objects built from one seed differ in {name}; draw initial weights and noise from "
            "torch's global generator only"
        )
        self._require_equal(self.run_seeded(first), self.run_seeded(second), message, 0.0)

    def test_bf16_is_finite(self) -> None:
        """Under bf16 autocast nothing overflows."""
        module = self.build_module()
        for mode in (module.train(), module.eval()):
            with (
                self.attempt("under bf16 autocast", "expected it to take what autocast gives it"),
                torch.no_grad(),
                torch.autocast("cpu", dtype=torch.bfloat16),
            ):
                outputs = self.run_seeded(mode)
            for name, value in outputs.items():
                self.require(
                    bool(torch.isfinite(value).all()),
                    f"{name} is not finite under bf16 autocast (training={mode.training}); compute "
                    "the sensitive part with autocast off, in float32",
                )

    def test_random_state_of_the_run_is_left_alone(self) -> None:
        """It never seeds a global generator, draws from torch's only, and in training only."""
        module = self.build_module()
        reseeded = reseeded_generators(lambda: self.run(self._built_here(), 4))
        self.require(
            not reseeded,
            f"it seeds the global generator of {', '.join(reseeded)}; the rest of the run would "
            "repeat itself: remove the seeding",
        )
        foreign = set(used_generators(lambda: self.run(self._built_here(), 4))) - {"torch", "cuda"}
        self.require(
            not foreign,
            f"it draws from the global generator of {', '.join(sorted(foreign))}; use torch's "
            "functions, whose generator a run saves and restores on every device",
        )
        module.eval()
        drawn = used_generators(lambda: self.run(module, 4))
        self.require(
            not drawn,
            f"in evaluation mode it draws from the global generator of {', '.join(drawn)}, so an "
            "evaluation would change the training after it; be deterministic when not training",
        )

    def test_can_be_copied(self) -> None:
        """``copy.deepcopy`` works, as averaging the weights needs."""
        module = self.build_module()
        with torch.no_grad():
            self.run_seeded(module)
        with self.attempt("in copy.deepcopy", "expected a copy: hold no locks, files or handles"):
            copied = copy.deepcopy(module)
        self._require_equal(
            self._evaluate(module), self._evaluate(copied), "the copy differs in {name}"
        )

    # Helpers.

    def _built_here(self) -> nn.Module:
        module = self.build()
        assert isinstance(module, nn.Module)
        return module

    def _evaluate(self, module: nn.Module, rows: int = 4) -> dict[str, Tensor]:
        with torch.no_grad():
            return self.run_seeded(module.eval(), rows)

    def _require_equal(
        self,
        left: Mapping[str, Tensor],
        right: Mapping[str, Tensor],
        message: str,
        tolerance: float = 1e-5,
    ) -> None:
        for name, value in left.items():
            difference = largest_difference(value, right[name])
            self.require(
                difference <= tolerance,
                f"{message.format(name=name)} (largest difference {difference:.2g} of the largest "
                "value)",
            )

    def _require_floats(self, value: object, what: str, shape: tuple[int, ...]) -> None:
        """Require a finite float32 tensor of a shape."""
        is_right = isinstance(value, Tensor) and value.shape == shape
        if not isinstance(value, Tensor) or not is_right or value.dtype != torch.float32:
            self.fail(f"{what} is {describe(value)}; expected {shape} float32")
        self.require(bool(torch.isfinite(value).all()), f"{what} is not finite")


class EmbeddingConformance(ModuleConformance):
    """A module whose rows are samples that must not see each other in evaluation."""

    def test_evaluation_of_a_sample_is_independent_of_its_batch(self) -> None:
        """In evaluation mode a sample gives the same alone and among others."""
        module = self.build_module()
        with torch.no_grad():
            self.run_seeded(module)
        together, alone = self._evaluate(module, 4), self._evaluate(module, 1)
        for name, value in together.items():
            difference = largest_difference(value[:1], alone[name])
            self.require(
                difference <= ROUNDING,
                f"in evaluation mode {name} of a sample depends on the others in its batch "
                f"(differs by {difference:.2g} of the largest value); check that eval() reaches "
                "every batch normalisation and that nothing is averaged over the batch",
            )
