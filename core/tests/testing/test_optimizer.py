import pytest

from reid_core.testing import OptimizerConformance

GOOD = """
import torch
from torch.optim import Optimizer

class Example(Optimizer):
    def __init__(self, params, *, lr: float, weight_decay: float = 0.0, momentum: float = 0.5):
        super().__init__(params, {"lr": lr, "momentum": momentum})
        self.velocities = {}

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state = self.state[parameter]
                velocity = state.get("velocity", torch.zeros_like(parameter))
                state["velocity"] = group["momentum"] * velocity + parameter.grad
                parameter -= group["lr"] * state["velocity"]
"""
SKIP = "if parameter.grad is None:"
STATE = "state = self.state[parameter]"
STEP = 'parameter -= group["lr"] * state["velocity"]'
BUILT = "self.velocities = {}"

FAULTS = {
    "it is no optimizer": (
        "test_groups_keep_their_own_settings", "class Example(Optimizer):",
        "class Example:\n    def __new__(cls, *args, **kwargs):\n        return 1\n\n"
        "class Old(Optimizer):",
        "gave a int; expected a torch.optim.Optimizer",
    ),
    "it overrides the groups": (
        "test_groups_keep_their_own_settings", BUILT,
        "self.velocities = [g.update(lr=lr) for g in self.param_groups]",
        r"with learning rates 0.05 and 0.025 have \[0.05, 0.05\]",
    ),
    "it climbs": (
        "test_steps_lower_the_loss", STEP, STEP.replace("-=", "+="), "expected it to fall",
    ),
    "it remembers its first learning rate": (
        "test_learning_rate_is_read_in_every_step", STEP,
        STEP.replace('group["lr"]', 'self.defaults["lr"]'), "read group\\['lr'\\] in step",
    ),
    "it needs every gradient": (
        "test_parameter_without_gradient_is_skipped", SKIP, "if False:",
        "raised TypeError in a step",
    ),
    "it moves what has no gradient": (
        "test_parameter_without_gradient_is_skipped", SKIP,
        "if parameter.grad is None:\n                    parameter += 1", "grad is None moves",
    ),
    "it keeps its state elsewhere": (
        "test_state_survives_a_checkpoint", STATE,
        "state = self.velocities.setdefault(parameter, {})",
        "a resumed training ends elsewhere",
    ),
    "its state cannot be loaded without running code": (
        "test_state_survives_a_checkpoint", STATE,
        f"{STATE}; state['path'] = __import__('pathlib').Path()", "raised .* its state was loaded",
    ),
    "it draws": (
        "test_random_state_of_the_run_is_left_alone", STATE, f"{STATE}; torch.rand(())",
        "global generator of torch",
    ),
}  # fmt: skip


def test_a_good_optimizer_passes_every_check(installed_component, run_all_checks) -> None:
    assert run_all_checks(installed_component(OptimizerConformance, GOOD)) == 9


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_found(installed_component, run_check, fault: str) -> None:
    check, old, new, message = FAULTS[fault]
    component = installed_component(OptimizerConformance, GOOD, old, new)
    with pytest.raises(AssertionError, match=message):
        run_check(component, check)


def test_every_check_has_a_fault_that_it_finds(own_checks) -> None:
    found = {check for check, *_ in FAULTS.values()}
    assert own_checks(OptimizerConformance) == found
