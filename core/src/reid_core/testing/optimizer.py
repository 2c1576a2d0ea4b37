"""The checks of an optimizer."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from reid_core.testing.base import Conformance
from reid_core.testing.randomness import used_generators
from reid_core.testing.states import first_difference, through_a_file
from reid_core.testing.tensors import describe, random_normal

#: Steps on the small problem.
_STEPS = 20


class OptimizerConformance(Conformance):
    """The checks of an optimizer, on the distance of a few numbers to their targets.

    Attributes:
        lr: Learning rate of the checks; small enough for the distance to fall.
    """

    kind = "optimizers"
    lr: ClassVar[float] = 0.05

    def context(self) -> dict[str, object]:
        """Return parameters in two groups, the second with a learning rate of its own."""
        return {"params": _groups(_parameters(), self.lr)}

    def build_optimizer(self, parameters: list[nn.Parameter], lr: float | None = None) -> Optimizer:
        """Build the optimizer.

        Args:
            parameters: Two of them, a group each.
            lr: Learning rate; that of the class by default.
        """
        rate = self.lr if lr is None else lr
        call = {"lr": rate, "weight_decay": 0.0, **self.parameters}
        optimizer = self.build_with(call, params=_groups(parameters, rate))
        self.require(
            isinstance(optimizer, Optimizer),
            f"it gave {describe(optimizer)}; expected a torch.optim.Optimizer",
        )
        assert isinstance(optimizer, Optimizer)
        return optimizer

    # Checks.

    def test_groups_keep_their_own_settings(self) -> None:
        """A group that comes with a learning rate keeps it."""
        parameters = _parameters()
        groups = self.build_optimizer(parameters).param_groups
        rates = [group["lr"] for group in groups]
        self.require(
            rates == [self.lr, self.lr / 2],
            f"groups with learning rates {self.lr} and {self.lr / 2} have {rates}; expected each "
            "to keep its own",
        )

    def test_steps_lower_the_loss(self) -> None:
        """The distance to the targets falls, in every group."""
        parameters = _parameters()
        before = [_loss([p], i).item() for i, p in enumerate(parameters)]
        self._train(self.build_optimizer(parameters), parameters)
        after = [_loss([p], i).item() for i, p in enumerate(parameters)]
        for group, (old, new) in enumerate(zip(before, after, strict=True)):
            self.require(
                new < old,
                f"after {_STEPS} steps the loss of group {group} went from {old:.4g} to {new:.4g}; "
                "expected it to fall: set `lr` if another one is usual",
            )

    def test_learning_rate_is_read_in_every_step(self) -> None:
        """A schedule sets ``param_groups[i]["lr"]``; at 0 nothing moves."""
        parameters = _parameters()
        optimizer = self.build_optimizer(parameters)
        for group in optimizer.param_groups:
            group["lr"] = 0.0
        before = [parameter.detach().clone() for parameter in parameters]
        self._train(optimizer, parameters, steps=2)
        self.require(
            all(map(torch.equal, before, (parameter.detach() for parameter in parameters))),
            "parameters move although the learning rate of every group is 0; read group['lr'] in "
            "step()",
        )

    def test_parameter_without_gradient_is_skipped(self) -> None:
        """A parameter that no gradient reached stays as it is."""
        parameters = _parameters()
        optimizer = self.build_optimizer(parameters)
        before = parameters[1].detach().clone()
        _loss(parameters[:1]).backward()  # type: ignore[no-untyped-call]
        with self.attempt("in a step", "expected parameters whose grad is None to be skipped"):
            optimizer.step()
        self.require(
            torch.equal(before, parameters[1].detach()),
            "a parameter whose grad is None moves; expected it to be skipped",
        )

    def test_state_survives_a_checkpoint(self) -> None:
        """Training that was saved and loaded goes on exactly as if it had not been."""
        whole = _parameters()
        self._train(self.build_optimizer(whole), whole)
        first = _parameters()
        optimizer = self.build_optimizer(first)
        self._train(optimizer, first, steps=_STEPS // 2)
        second = [nn.Parameter(parameter.detach().clone()) for parameter in first]
        resumed = self.build_optimizer(second)
        with self.attempt("when its state was loaded", "expected plain types and tensors in it"):
            state = through_a_file(optimizer.state_dict())
            assert isinstance(state, dict)
            resumed.load_state_dict(state)
        self._train(resumed, second, steps=_STEPS - _STEPS // 2)
        difference = first_difference(
            [p.detach() for p in whole], [p.detach() for p in second], "parameters"
        )
        self.require(
            not difference,
            f"a resumed training ends elsewhere ({difference}); keep all that a step depends on in "
            "self.state and param_groups",
        )

    def test_random_state_of_the_run_is_left_alone(self) -> None:
        """Steps touch no global generator."""

        def use() -> None:
            parameters = _parameters()
            self._train(self.build_optimizer(parameters), parameters, steps=2)

        used = used_generators(use)
        self.require(
            not used, f"it uses the global generator of {', '.join(used)}; use one of its own"
        )

    # Helpers.

    def _train(
        self, optimizer: Optimizer, parameters: list[nn.Parameter], steps: int = _STEPS
    ) -> None:
        for _ in range(steps):
            optimizer.zero_grad(set_to_none=True)
            _loss(parameters).backward()  # type: ignore[no-untyped-call]
            with self.attempt("in a step", "expected step() to work"):
                optimizer.step()


def _parameters() -> list[nn.Parameter]:
    return [nn.Parameter(random_normal((4, 3), seed)) for seed in (0, 1)]


def _groups(parameters: list[nn.Parameter], lr: float) -> list[dict[str, object]]:
    first, second = parameters
    return [{"params": [first]}, {"params": [second], "lr": lr / 2}]


def _loss(parameters: list[nn.Parameter], offset: int = 0) -> Tensor:
    targets = (random_normal((4, 3), 100 + offset + i) for i in range(len(parameters)))
    losses = [(p - t).square().sum() for p, t in zip(parameters, targets, strict=True)]
    return torch.stack(losses).sum()
