from __future__ import annotations

from collections.abc import Mapping

import pytest

from reid_core.inspection.declared_checks import declared_findings, name_fault
from reid_core.inspection.finding import Finding
from reid_core.plugins.declaration import Declaration, DeclaredEntry

GOOD = {"reid_core.losses": {"mine": "reid_plugin_x:Mine"}}


def found(
    groups: Mapping[str, Mapping[str, str]] = GOOD,
    requires: tuple[str, ...] = ("reid-core>=0.1",),
    *,
    name: str = "reid-plugin-x",
    core: str | None = "0.1.0",
) -> list[Finding]:
    entries = tuple(
        DeclaredEntry(group, entry, value)
        for group, names in groups.items()
        for entry, value in names.items()
    )
    return list(declared_findings(Declaration(name, "1.0", requires, entries), core))


def test_nothing_is_said_of_a_good_declaration() -> None:
    assert found() == []
    assert (
        found({**GOOD, "reid_core.plugin_api": {"1": "reid_plugin_x"}, "pytest11": {"a": "b"}})
        == []
    )


@pytest.mark.parametrize("name", ["a", "osnet_x1_0", "x2"])
def test_good_names_follow_the_rule(name: str) -> None:
    assert name_fault(name) == ""


@pytest.mark.parametrize(
    ("name", "mended"),
    [
        ("MyLoss", "for example my_loss"),
        ("my-loss", "for example my_loss"),
        ("my loss.v2", "for example my_loss_v2"),
        ("OSNet", "for example osnet"),
        ("_x", "for example x"),
    ],
)
def test_a_wrong_name_is_answered_with_a_right_one(name: str, mended: str) -> None:
    message = name_fault(name)
    assert f"the name {name!r} does not follow [a-z][a-z0-9_]*" in message
    assert message.endswith(mended)


@pytest.mark.parametrize("name", ["2x", "é", ""])
def test_where_no_right_name_is_near_none_is_made_up(name: str) -> None:
    assert name_fault(name).endswith("rename the entry point")


def test_no_entry_point_of_ours_is_a_fault_that_names_the_groups() -> None:
    (finding,) = found({"console_scripts": {"run": "x:main"}})
    assert (finding.level, finding.rule) == ("fault", "no-entry-point")
    assert "no entry point in a group reid_core.<kind> (its groups are console_scripts)" in (
        finding.message
    )
    assert '[project.entry-points."reid_core.losses"]' in finding.message
    (finding,) = found({})
    assert "its groups" not in finding.message


@pytest.mark.parametrize(
    ("group", "meant"),
    [
        ("reid_core.backbone", "reid_core.backbones"),
        ("reid_core.loss", "reid_core.losses"),
        ("reid_core.transfroms", "reid_core.transforms"),
        ("reid_core.alias", "reid_core.aliases"),
    ],
)
def test_an_unknown_group_is_a_fault_with_the_near_match(group: str, meant: str) -> None:
    (finding,) = found({group: {"small": "reid_plugin_x:Small"}})
    assert (finding.level, finding.rule) == ("fault", "unknown-group")
    assert f"{group} is none of this framework, so small cannot be found" in finding.message
    assert f"did you mean {meant}?" in finding.message


@pytest.mark.parametrize(
    ("group", "meant"),
    [
        ("reid-core.heads", "reid_core.heads"),
        ("reid_core_heads", "reid_core.heads"),
        ("reidcore.backbones", "reid_core.backbones"),
        ("Reid_Core.losses", "reid_core.losses"),
    ],
)
def test_a_group_that_is_all_but_ours_is_a_fault(group: str, meant: str) -> None:
    (finding,) = found({group: {"small": "reid_plugin_x:Small"}})
    assert (finding.level, finding.rule) == ("fault", "unknown-group")
    assert f"did you mean {meant}?" in finding.message


def test_groups_of_other_projects_are_no_matter() -> None:
    others = {"pytest11": {"a": "b"}, "timm.models": {"c": "d"}, "kedro.hooks": {"e": "f"}}
    assert found({**GOOD, **others}) == []


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        (["2"], "made for plugin API 2, this core has 1"),
        (["one"], "made for plugin API 'one'; expected a whole number, such as 1"),
        (["1", "2"], "made for several plugin APIs: 1, 2; keep one entry"),
    ],
)
def test_another_plugin_api_is_a_fault(numbers: list[str], text: str) -> None:
    api = {"reid_core.plugin_api": dict.fromkeys(numbers, "reid_plugin_x")}
    (finding,) = found({**GOOD, **api})
    assert (finding.level, finding.rule) == ("fault", "plugin-api")
    assert text in finding.message


@pytest.mark.parametrize(
    ("requires", "text"),
    [
        (
            (),
            'is missing, so it is installed beside cores that it was never tried with; write "re',
        ),
        (("torch",), "the requirement on reid-core is missing"),
        (
            ("reid-core",),
            "has no floor, so it is installed beside cores that it was never",
        ),
        (("Reid_Core != 0.0.1",), "has no floor"),
        (("reid-core>=0.1; extra == 'x'",), "is missing"),
        (("reid-core>=0.1,<1",), "reid-core<1,>=0.1 has an upper limit"),
        (("reid-core~=0.1",), 'keep the floor only: "reid-core>=0.1"'),
        (("reid-core==0.1.0",), "has an upper limit"),
    ],
)
def test_a_missing_floor_and_an_upper_limit_are_warnings(
    requires: tuple[str, ...], text: str
) -> None:
    (finding,) = found(requires=requires)
    assert (finding.level, finding.rule) == ("warning", "requirement")
    assert text in finding.message


def test_a_core_that_is_too_old_is_a_fault_with_both_commands() -> None:
    (finding,) = found(requires=("reid-core>=99",))
    assert (finding.level, finding.rule) == ("fault", "requirement")
    assert "needs reid-core>=99, found reid-core 0.1.0" in finding.message
    assert "pip install 'reid-core>=99'" in finding.message
    assert "pip install --upgrade reid-plugin-x" in finding.message


def test_without_an_installed_core_there_is_nothing_to_compare_with() -> None:
    assert found(requires=("reid-core>=99",), core=None) == []


def test_a_text_that_is_no_requirement_is_a_fault() -> None:
    (finding,) = found(requires=("reid-core>=0.1", "torch >"))
    assert (finding.level, finding.rule) == ("fault", "requirement")
    assert "'torch >' is no requirement" in finding.message


def test_the_core_needs_no_requirement_on_itself() -> None:
    values = {"reid_core.losses": {"mine": "reid_core:Mine"}}
    assert found(values, requires=(), name="reid-core") == []


def test_a_package_of_another_name_is_only_a_note() -> None:
    (finding,) = found({"reid_core.losses": {"mine": "my_losses.part:Mine"}})
    assert (finding.level, finding.rule) == ("note", "module-name")
    assert "its package is called my_losses, not reid_plugin_x" in finding.message
