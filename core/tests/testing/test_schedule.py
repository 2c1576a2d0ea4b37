import pytest

from reid_core.testing import ScheduleConformance

GOOD = """
import random

class Example:
    def __init__(self, *, total_epochs: float, power: float = 0.9):
        self.total_epochs, self.power = total_epochs, power
        self.calls = 0

    def factor(self, epoch):
        return (1 - epoch / self.total_epochs) ** self.power
"""
RETURN = "return (1 - epoch / self.total_epochs) ** self.power"

FAULTS = {
    "it has no factor": (
        "test_factor_is_a_finite_number", "def factor", "def value", "without a method factor",
    ),
    "it goes below 0": (
        "test_factor_is_a_finite_number", RETURN, "return 1 - epoch", r"factor\(1.125\) is -0.12",
    ),
    "it divides by 0": (
        "test_factor_is_a_finite_number", RETURN, "return 1 / epoch",
        "raised ZeroDivisionError at epoch 0.000",
    ),
    "it is infinite": (
        "test_factor_is_a_finite_number", RETURN, "return float('inf')", "is inf; expected",
    ),
    "it returns text": (
        "test_factor_is_a_finite_number", RETURN, "return '1'", "is '1'; expected a finite float",
    ),
    "it counts its calls": (
        "test_factor_depends_on_the_epoch_alone", RETURN,
        "self.calls += 1; return 0.9 ** self.calls", "count nothing in the object",
    ),
    "it draws": (
        "test_random_state_of_the_run_is_left_alone", RETURN, "return random.random()",
        "global generator of python",
    ),
}  # fmt: skip


def test_a_good_schedule_passes_every_check(installed_component, run_all_checks) -> None:
    assert run_all_checks(installed_component(ScheduleConformance, GOOD)) == 6


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_found(installed_component, run_check, fault: str) -> None:
    check, old, new, message = FAULTS[fault]
    component = installed_component(ScheduleConformance, GOOD, old, new)
    with pytest.raises(AssertionError, match=message):
        run_check(component, check)


def test_every_check_has_a_fault_that_it_finds(own_checks) -> None:
    found = {check for check, *_ in FAULTS.values()}
    assert own_checks(ScheduleConformance) == found
