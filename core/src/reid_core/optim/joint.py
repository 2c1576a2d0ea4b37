"""Several optimizers that are stepped, saved and scheduled as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from torch.optim import Optimizer


class JointOptimizer(Optimizer):
    """Optimizers side by side, each over parameters of its own.

    Its groups are those of its members, one after the other, the same dictionaries: a schedule that
    changes a rate here changes it there.

    Args:
        members: At least one; no parameter may belong to two.
    """

    def __init__(self, members: Sequence[Optimizer]) -> None:
        self.members = list(members)
        params = [p for member in members for group in member.param_groups for p in group["params"]]
        super().__init__(params, {})
        self._share_groups()

    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Step every member.

        Args:
            closure: Computes the loss anew; called once, before the first member.
        """
        loss = None if closure is None else closure()
        for member in self.members:
            member.step()
        return loss

    def state_dict(self) -> dict[str, Any]:
        """Return the state of each member."""
        return {"members": [member.state_dict() for member in self.members]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the state of each member back.

        Raises:
            ValueError: It is one of other optimizers.
        """
        states = cast("list[dict[str, Any]]", state_dict.get("members", [state_dict]))
        if len(states) != len(self.members):
            raise ValueError(
                f"the state is one of {len(states)} optimizers, here are {len(self.members)}"
            )
        for member, state in zip(self.members, states, strict=True):
            member.load_state_dict(state)
        self._share_groups()

    def _share_groups(self) -> None:
        self.param_groups = [group for member in self.members for group in member.param_groups]
