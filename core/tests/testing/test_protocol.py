import pytest

from reid_core.testing import ProtocolConformance

GOOD = """
from dataclasses import dataclass, field

import numpy as np
from reid_core.evaluation import Protocol

@dataclass(frozen=True)
class Rule(Protocol):
    kept: dict = field(default_factory=dict)

    def excluded(self, query, gallery):
        mask = query.camids[:, None] == gallery.camids
        return mask

def Example():
    return Rule(name="example", description="other cameras only")
"""
MASK = "return mask"

FAULTS = {
    "it is no protocol": (
        "test_name_and_description_are_one_line", "return Rule", "return dict",
        "gave a dict; expected a reid_core.evaluation.Protocol",
    ),
    "it says too much": (
        "test_name_and_description_are_one_line", "other cameras only", "other\\ncameras",
        "its description is",
    ),
    "it returns numbers": (
        "test_excluded_is_a_table_of_bools", MASK, "return mask.astype(int)",
        r"returns an array \(12, 40\) int64; expected an array \(12, 40\) of bool",
    ),
    "it returns the same array again": (
        "test_excluded_is_a_table_of_bools", MASK, "return self.kept.setdefault('mask', mask)",
        "returns the same array again",
    ),
    "it changes the labels": (
        "test_labels_are_left_alone", MASK, "gallery.pids[:] = 0; return mask",
        "changes the labels",
    ),
    "it compares queries with each other": (
        "test_blocks_of_queries_give_the_same", MASK,
        "return mask & (query.pids == query.pids[0])[:, None]",
        "treated otherwise among fewer queries",
    ),
    "it looks at places in the gallery": (
        "test_order_of_the_gallery_does_not_matter", MASK, "mask[:, 0] = True; return mask",
        "depends on the order of the gallery",
    ),
    "it miscounts": (
        "test_matches_are_counted_as_excluded_leaves_them", "    def excluded",
        "    def count_matches(self, query, _):\n        return query.pids\n\n    def excluded",
        r"count_matches\(\) gives .*, and excluded\(\) leaves",
    ),
    "it draws": (
        "test_random_state_of_the_run_is_left_alone", MASK, "np.random.rand(); return mask",
        "global generator of numpy",
    ),
    "it fails": (
        "test_labels_are_left_alone", MASK, "return missing", r"raised NameError in excluded\(\)",
    ),
}  # fmt: skip


def test_a_good_protocol_passes_every_check(installed_component, run_all_checks) -> None:
    assert run_all_checks(installed_component(ProtocolConformance, GOOD)) == 10


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_found(installed_component, run_check, fault: str) -> None:
    check, old, new, message = FAULTS[fault]
    component = installed_component(ProtocolConformance, GOOD, old, new)
    with pytest.raises(AssertionError, match=message):
        run_check(component, check)


def test_every_check_has_a_fault_that_it_finds(own_checks) -> None:
    found = {check for check, *_ in FAULTS.values()}
    assert own_checks(ProtocolConformance) == found
