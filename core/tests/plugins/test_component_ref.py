from __future__ import annotations

import pytest

from reid_core.plugins.component_ref import KINDS, ComponentRef, singular
from reid_core.plugins.metadata import Entry


def entry(
    value: str = "pkg.module:Thing", group: str = "reid_core.heads", **facts: object
) -> Entry:
    plain = {"name": "thing", "dist": "fake-x", "version": "1", "editable": False}
    return Entry(**{"group": group, "value": value, "shadowed": False, **plain, **facts})


def test_a_record_says_where_a_component_comes_from() -> None:
    ref = ComponentRef.of_entry(entry())
    assert ref == ComponentRef("heads", "thing", "pkg.module:Thing", "fake-x", "1", "ok")
    assert ref.qualified == "fake-x/thing"
    assert ref.origin() == "fake-x 1 (pkg.module:Thing)"
    assert ref.claims_name


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("pkg:Outer.make", "pkg:Outer.make"),
        ("pkg . module", None),
        ("pkg.module : Thing", "pkg.module:Thing"),
        ("pkg.module:Thing [gpu, extra]", "pkg.module:Thing"),
        ("pkg.módulo:Thing", "pkg.módulo:Thing"),
        ("pkg.module", None),  # a module is no component
        ("pkg..module:Thing", None),
        ("pkg.module:", None),
        (":Thing", None),
        ("1pkg:Thing", None),
        ("pkg-module:Thing", None),
        ("pkg:Thing()", None),
        ("os; import sys:x", None),
        ("", None),
    ],
)
def test_a_value_that_cannot_be_imported_is_bad_metadata(written: str, value: str | None) -> None:
    ref = ComponentRef.of_entry(entry(written))
    assert (ref.status, ref.value) == (("ok", value) if value else ("bad-metadata", ref.value))
    assert ref.claims_name is (value is not None)


def test_recipes_are_a_package_without_an_attribute() -> None:
    ref = ComponentRef.of_entry(entry("pkg.recipes", "reid_core.recipes"))
    assert (ref.status, ref.value) == ("ok", "pkg.recipes")


def test_a_group_that_is_no_kind_of_ours_is_bad_metadata() -> None:
    ref = ComponentRef.of_entry(entry(group="reid_core.head"))
    assert (ref.kind, ref.status) == ("head", "bad-metadata")


def test_an_entry_that_needs_another_core_is_incompatible_and_keeps_its_name() -> None:
    ref = ComponentRef.of_entry(entry(needs="reid-core>=99"))
    assert (ref.status, ref.needs, ref.claims_name) == ("incompatible", "reid-core>=99", True)


def test_a_second_copy_is_shadowed_whatever_else_is_wrong_with_it() -> None:
    ref = ComponentRef.of_entry(entry("no import", needs="reid-core>=99", shadowed=True))
    assert (ref.status, ref.claims_name) == ("shadowed", False)


def test_every_kind_has_a_word_for_one_of_it() -> None:
    assert [singular(kind) for kind in KINDS] == [
        "backbone",
        "head",
        "loss",
        "hook",
        "model",
        "dataset",
        "sampler",
        "transform",
        "optimizer",
        "schedule",
        "protocol",
        "reranker",
        "recipe",
    ]
