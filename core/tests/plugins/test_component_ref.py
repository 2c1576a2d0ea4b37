from __future__ import annotations

import pytest

from reid_core.plugins.component_ref import KINDS, ComponentRef, Status, singular
from reid_core.plugins.metadata import PLUGIN_API, Entry


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
    assert ref.detail == "there is no kind 'head'; did you mean heads?"


@pytest.mark.parametrize(
    ("group", "value", "detail"),
    [
        ("reid_core.heads", "no import", "'no import' is no 'module:attribute'"),
        ("reid_core.recipes", "a-b", "'a-b' is no package of recipes"),
        ("reid_core.heads", "a.b", "'a.b' is no 'module:attribute'"),
        ("reid_core.heads", "a", "'a' is no 'module:attribute'"),
        (
            "reid_core.heads",
            "pkg.mod.Obj",
            "'pkg.mod.Obj' is no 'module:attribute'; did you mean 'pkg.mod:Obj'?",
        ),
        (
            "reid_core.heads",
            "pkg.mod.make",
            "'pkg.mod.make' is no 'module:attribute'; did you mean 'pkg.mod:make'?",
        ),
        (
            "reid_core.heads",
            "pkg.Obj",
            "'pkg.Obj' is no 'module:attribute'; did you mean 'pkg:Obj'?",
        ),
    ],
)
def test_a_broken_value_is_told_in_a_line(group: str, value: str, detail: str) -> None:
    assert ComponentRef.of_entry(entry(value, group)).detail == detail


def test_an_entry_that_needs_another_core_is_incompatible_and_keeps_its_name() -> None:
    ref = ComponentRef.of_entry(entry(needs="reid-core>=99", core="0.1.0"))
    assert (ref.status, ref.needs, ref.claims_name) == ("incompatible", "reid-core>=99", True)
    assert ref.detail == "needs reid-core>=99, found 0.1.0"


def test_an_entry_for_another_plugin_api_is_incompatible() -> None:
    ref = ComponentRef.of_entry(entry(api=("2",)))
    assert (ref.status, ref.needs) == ("incompatible", "plugin API 2")
    assert ref.detail == "made for plugin API 2, this core has 1"
    assert ComponentRef.of_entry(entry(api=("1",))).status == "ok"
    assert PLUGIN_API == 1


@pytest.mark.parametrize(
    ("api", "detail"),
    [
        (("1", "2"), "made for several plugin APIs: 1, 2; expected one"),
        (("two",), "made for plugin API 'two'; expected a whole number"),
        (("1.0",), "made for plugin API '1.0'; expected a whole number"),
        (("-1",), "made for plugin API '-1'; expected a whole number"),
        (("١",), "made for plugin API '١'; expected a whole number"),  # a digit, not an ASCII one
    ],
)
def test_a_plugin_api_that_is_no_number_is_bad_metadata(api: tuple[str, ...], detail: str) -> None:
    ref = ComponentRef.of_entry(entry(api=api))
    assert (ref.status, ref.detail, ref.needs) == ("bad-metadata", detail, "")


def test_a_second_copy_is_shadowed_whatever_else_is_wrong_with_it() -> None:
    ref = ComponentRef.of_entry(
        entry("no import", needs="reid-core>=99", shadowed=True, used_copy="2 in /site")
    )
    assert (ref.status, ref.claims_name) == ("shadowed", False)
    assert ref.detail == "fake-x 2 in /site is used"


@pytest.mark.parametrize("status", ["shadowed", "bad-metadata", "disabled"])
def test_what_cannot_be_used_claims_no_name(status: Status) -> None:
    assert not ComponentRef("heads", "a", "b:c", "fake-x", "1", status).claims_name


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
