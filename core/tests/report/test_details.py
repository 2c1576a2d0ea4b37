import math

import pytest
from pydantic import ValidationError

from reid_core.report import write_report
from reid_core.report.details import shape_problem


def test_a_null_in_place_of_a_number_is_not_defined(read_details, make_detail):
    verification = {**make_detail()["verification"], "auc": None, "tpr_at_fpr": {"1e-4": None}}
    one = make_detail(
        metrics={"mAP": None, "rank1": 0.5}, cmc=[None, 0.5], verification=verification
    )
    [found] = read_details(one)
    assert math.isnan(found.metrics["mAP"])
    assert math.isnan(found.cmc[0])
    assert math.isnan(found.verification.auc)
    assert math.isnan(found.verification.tpr_at_fpr["1e-4"])


def test_a_null_that_has_a_meaning_of_its_own_stays(read_details, make_detail):
    [found] = read_details(make_detail(ap=[None, 0.5], threshold=None, map=None))
    assert found.ap == [None, 0.5]
    assert found.threshold is None
    assert found.camera_pairs.ap[0][0] is None


def test_fields_of_a_later_version_are_passed_over(read_details, make_detail):
    [found] = read_details({**make_detail(), "colour": "blue"})
    assert found.dataset == "market1501"


def test_a_wrong_value_is_refused(read_details, make_detail):
    with pytest.raises(ValidationError):
        read_details(make_detail(step="soon"))


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("map", "x", [1.0]),
        ("camera_pairs", "ap", [[0.5]]),
        ("camera_pairs", "num_queries", [[1]] * 6),
        ("histogram", "same", [1]),
        ("histogram", "edges", [math.nan] * 76),
        ("histogram", "edges", [0.5] * 76),
        ("verification", "fpr", [0.0]),
    ],
)
def test_lists_that_do_not_fit_together_are_named(read_details, make_detail, name, field, value):
    one = make_detail()
    assert shape_problem(read_details(one)) == ""
    damaged = {**one, name: {**one[name], field: value}}
    assert shape_problem(read_details(one, damaged)).startswith(f"at 1.{name}: ")


def test_such_details_are_a_note_on_the_page(full_run, write_run, make_detail, parse):
    one = make_detail()
    damaged = {**one, "map": {**one["map"], "x": [1.0]}}
    write_run(full_run, details={"schema": 1, "details": [damaged]})
    text = parse(write_report(full_run)).text
    assert "details.json is not shown: at 0.map: lists differ in length" in text
