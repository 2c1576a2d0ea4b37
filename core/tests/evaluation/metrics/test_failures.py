import numpy as np
import pytest

from reid_core.evaluation import Labels, Search, failures, market1501
from reid_core.evaluation.metrics.failures import REASONS
from reid_core.evaluation.search import number_rows


def of_one_query(entries):
    """Failures of a query of identity 1, beside one of identity 2; entries are (pid, distance)."""
    pids, distances = zip(*entries, strict=True)
    block = np.array([distances, np.arange(len(pids))], dtype=np.float32)
    sides = number_rows(
        Labels(np.array([1, 2]), np.array([0, 0])),
        Labels(np.array(pids), np.ones(len(pids), dtype=int)),
    )
    found = failures(
        Search(
            *sides,
            distances=lambda start, stop: block[start:stop],
            protocol=market1501(),
            distance="given",
        )
    )
    return [failure.reason for failure in found if 0 in failure.examples]


def others(number, first=0.2, pid=2):
    return [(pid, first + 0.001 * place) for place in range(number)]


@pytest.mark.parametrize(
    ("entries", "reasons"),
    [
        ([(1, 0.1), (2, 0.2)], []),
        ([(1, 0.1), (1, 0.1), (2, 0.2)], []),
        ([(-1, 0.1), (1, 0.2)], []),
        ([(1, 0.1), (2, 0.1)], ["tied"]),
        ([(0, 0.1), (1, 0.2)], ["distractor"]),
        # At one distance with a distractor stands a person who is searched for.
        ([(0, 0.1), (2, 0.1), (1, 0.2), (1, 0.3)], ["near_miss"]),
        ([(2, 0.1), (1, 0.2)], ["single_match"]),
        ([(2, 0.1), (1, 0.2), (1, 0.3)], ["near_miss"]),
        ([*others(4), (1, 0.5), (1, 0.6)], ["near_miss"]),
        ([*others(5), (1, 0.5), (1, 0.6)], ["found_late"]),
        ([*others(49), (1, 0.5), (1, 0.6)], ["found_late"]),
        ([*others(50), (1, 0.5), (1, 0.6)], ["lost"]),
        ([(2, 0.1)], []),
    ],
)
def test_each_failure_has_the_first_reason_that_holds(entries, reasons):
    assert of_one_query(entries) == reasons


def test_reasons_are_counted_most_frequent_first_with_the_worst_cases_as_examples():
    # Rows 0 to 5 find their match behind 1, 2, 3, 1, 2 and 3 mistakes.
    behind = np.array([1, 2, 3, 1, 2, 3, 1, 0])
    distances = np.tile(np.array([9, 9, 0.1, 0.2, 0.3, 0.4], dtype=np.float32), (8, 1))
    distances[:, 0] = 0.05 + 0.1 * behind
    distances[7, 2] = 9.0
    distances[6, 2:] = 9.0
    query = Labels(np.array([1] * 7 + [3]), np.zeros(8, dtype=int))
    gallery = Labels(np.array([1, 1, 3, 3, 3, 3]), np.ones(6, dtype=int))
    found = failures(
        Search(
            *number_rows(query, gallery),
            distances=lambda start, stop: distances[start:stop],
            protocol=market1501(),
            distance="given",
        )
    )
    # Row 6 has nothing before its match; row 7, of identity 3, has one mistake.
    assert [(one.reason, one.count) for one in found] == [("near_miss", 7)]
    assert found[0].examples == [2, 5, 1, 4, 0]
    assert found[0].explanation == REASONS["near_miss"]
