import pytest

from reid_core.testing import ProtocolConformance

GOOD = """
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from reid_core.evaluation import Prepared, Protocol, Trial

@dataclass(frozen=True)
class Rule(Protocol):
    kept: dict = field(default_factory=dict)

    def excluded(self, query, gallery):
        mask = query.camids[:, None] == gallery.camids
        mask[:, gallery.pids == -1] = True
        return mask

def Example():
    return Rule(name="example", description="other cameras only")
"""
MASK = "return mask"
EXCLUDED = "    def excluded"


def method(text: str) -> str:
    """The code that puts a further method before ``excluded``."""
    return f"    def {text}\n\n{EXCLUDED}"


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
    "it draws from a global generator in its trials": (
        "test_random_state_of_the_run_is_left_alone", EXCLUDED,
        method("trials(self, query, gallery):\n        np.random.rand()"),
        "global generator of numpy",
    ),
    "it ignores what counts": (
        "test_what_is_ignored_is_excluded", "mask[:, gallery.pids == -1] = True", "",
        r"ignored\(\) takes away gallery entry 0, which excluded\(\) lets count",
    ),
    "it ignores by number": (
        "test_what_is_ignored_is_excluded", EXCLUDED,
        method("ignored(self, gallery):\n        return gallery.pids"),
        r"ignored\(\) returns an array \(40,\) int64; expected an array \(40,\) of bool",
    ),
    "it cuts another way each time": (
        "test_trials_cut_the_set_the_same_each_time", EXCLUDED,
        method(
            "trials(self, query, gallery):\n"
            "        self.kept['n'] = n = self.kept.get('n', 0) + 1\n"
            "        return [Trial(np.array([n]), np.arange(12, 52))]"
        ),
        r"trials\(\) cuts the same labels differently the second time",
    ),
    "it cuts outside of the set": (
        "test_trials_cut_the_set_the_same_each_time", EXCLUDED,
        method(
            "trials(self, query, gallery):\n"
            "        return [Trial(np.arange(12), np.arange(12, 53))]"
        ),
        r"raised PluginError in trials\(\): .*gallery names rows from 12 to 52; expected 0 to 51",
    ),
    "it lets rows search themselves": (
        "test_trials_cut_the_set_the_same_each_time",
        EXCLUDED + "(self, query, gallery):\n        mask = query.camids[:, None]",
        method(
            "trials(self, query, gallery):\n"
            "        return [Trial(np.arange(52), np.arange(52))]"
        ) + "(self, query, gallery):\n        mask = query.camids[:, None] + 1",
        r"trial 0 has row 0 as query and in the gallery, and excluded\(\) does not",
    ),
    "it makes other widths": (
        "test_prepare_keeps_labels_and_width", EXCLUDED,
        method(
            "prepare(self, query, gallery):\n"
            "        made = super(Rule, self).prepare(query, gallery)\n"
            "        half = replace(query, features=query.features[:, :4])\n"
            "        return replace(made, query=half)"
        ),
        r"prepare\(\) makes \(12, 4\) of the query's \(12, 8\), with 12 rows",
    ),
    "it gives other labels": (
        "test_prepare_keeps_labels_and_width", EXCLUDED,
        method(
            "prepare(self, query, gallery):\n"
            "        made = super(Rule, self).prepare(query, gallery)\n"
            "        return replace(made, gallery_rows=made.gallery_rows[::-1])"
        ),
        r"prepare\(\) gives the gallery other labels than those of the rows",
    ),
    "it changes embeddings": (
        "test_prepare_keeps_labels_and_width", EXCLUDED,
        method(
            "prepare(self, query, gallery):\n"
            "        query.features.mul_(2)\n"
            "        return super(Rule, self).prepare(query, gallery)"
        ),
        r"prepare\(\) changes the embeddings of the query",
    ),
    "it mixes identities in a group": (
        "test_groups_are_of_one_identity_and_camera", EXCLUDED,
        method("grouped(self, gallery):\n        return np.arange(len(gallery)) // 2"),
        r"raised DataError in grouped\(\): .* mixes identities",
    ),
    "it breaks its promise": (
        "test_a_promise_to_leave_out_the_own_identity_alone_is_kept", EXCLUDED,
        "    excludes_own_pid_only = True\n\n" + EXCLUDED,
        r"says excludes_own_pid_only = True, and excluded\(\) leaves out an entry of another",
    ),
    "it keeps half of its promise": (
        "test_a_promise_to_leave_out_the_own_identity_alone_is_kept",
        EXCLUDED
        + "(self, query, gallery):\n        mask = query.camids[:, None] == gallery.camids",
        "    excludes_own_pid_only = True\n\n" + EXCLUDED
        + "(self, query, gallery):\n        mask = (query.pids[:, None] == gallery.pids)"
        " & (len(gallery) > 30)",
        r"excluded\(\) answers otherwise for a part of the gallery",
    ),
    "it leaves nothing to measure": (
        "test_a_test_set_can_be_evaluated", "return mask", "return mask | True",
        r"raised DataError in an evaluation: 0 of 12 queries",
    ),
    "it fails": (
        "test_labels_are_left_alone", MASK, "return missing", r"raised NameError in excluded\(\)",
    ),
}  # fmt: skip


def test_a_good_protocol_passes_every_check(installed_component, run_all_checks) -> None:
    assert run_all_checks(installed_component(ProtocolConformance, GOOD)) == 16


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_found(installed_component, run_check, fault: str) -> None:
    check, old, new, message = FAULTS[fault]
    component = installed_component(ProtocolConformance, GOOD, old, new)
    with pytest.raises(AssertionError, match=message):
        run_check(component, check)


def test_every_check_has_a_fault_that_it_finds(own_checks) -> None:
    found = {check for check, *_ in FAULTS.values()}
    assert own_checks(ProtocolConformance) == found
