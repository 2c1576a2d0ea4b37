"""The whole check without its probes: what metadata and files tell."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path

import pytest

from reid_core.errors import UsageError
from reid_core.inspection.finding import Finding
from reid_core.inspection.inspect_plugins import inspect_plugins
from reid_core.inspection.probe_records import ProbeResult
from reid_core.inspection.report import ComponentReport, DistributionReport
from reid_core.plugins.component_ref import ComponentRef
from reid_core.plugins.index import disabled_plugins
from reid_core.testing.fake_dist import FakeSite

ON_CORE = ["reid-core>=0.1"]
Only = Callable[[DistributionReport | ComponentReport], Finding]


@pytest.fixture(autouse=True)
def probed(monkeypatch: pytest.MonkeyPatch) -> list[ComponentRef]:
    """The components that would have been imported; each does well."""
    asked: list[ComponentRef] = []

    def probe_all(
        refs: Sequence[ComponentRef], *, timeout_seconds: float
    ) -> Generator[tuple[ComponentRef, ProbeResult], None, None]:
        assert timeout_seconds == 7
        for ref in refs:
            asked.append(ref)
            yield ref, ProbeResult(stage="done", import_seconds=0.004, is_built=True)

    monkeypatch.setattr("reid_core.inspection.inspect_plugins.probe_all", probe_all)
    return asked


def check(*targets: str) -> DistributionReport:
    (report,) = inspect_plugins(targets, timeout_seconds=7)
    return report


def part(report: DistributionReport, name: str) -> ComponentReport:
    (component,) = [one for one in report.components if one.name == name]
    return component


def write_project(folder: Path, *, name: str = "reid-plugin-x", version: str = "1.0") -> Path:
    folder.mkdir()
    (folder / "pyproject.toml").write_text(
        f'[project]\nname = "{name}"\nversion = "{version}"\ndependencies = ["reid-core>=0.1"]\n'
        '[project.entry-points."reid_core.heads"]\nmine = "reid_plugin_x:Mine"\n'
    )
    return folder


def write_wheel(path: Path, entry_points: str, files: Sequence[str] = ()) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        info = "reid_plugin_x-1.0.dist-info"
        metadata = "Name: reid-plugin-x\nVersion: 1.0\nRequires-Dist: reid-core>=0.1\n"
        archive.writestr(f"{info}/METADATA", metadata)
        if entry_points:
            archive.writestr(f"{info}/entry_points.txt", entry_points)
        for name in files:
            archive.writestr(name, "")
    return path


@pytest.mark.parametrize("spelling", ["reid-plugin-x", "Reid_Plugin.X"])
def test_a_distribution_is_checked_by_its_name(
    spelling: str, fake_dist: FakeSite, probed: list[ComponentRef]
) -> None:
    groups = {"heads": {"mine": "reid_plugin_x:Mine"}, "losses": {"own": "reid_plugin_x:Own"}}
    root = fake_dist("reid-plugin-x", groups, requires=ON_CORE)
    report = check(spelling)
    assert (report.name, report.version, report.source) == ("reid-plugin-x", "1.0", str(root))
    assert (report.findings, report.is_editable) == ((), False)
    assert [(c.kind, c.name, c.verdict, c.import_ms) for c in report.components] == [
        ("heads", "mine", "ok", 4.0),
        ("losses", "own", "ok", 4.0),
    ]
    assert [ref.name for ref in probed] == ["mine", "own"]


def test_without_names_everything_that_provides_something_is_checked(fake_dist: FakeSite) -> None:
    fake_dist("reid-plugin-x", {"heads": {"mine": "reid_plugin_x:Mine"}}, requires=ON_CORE)
    names = [report.name for report in inspect_plugins([], timeout_seconds=7)]
    assert {"reid-core", "reid-plugin-x"} <= set(names)
    assert "torch" not in names
    assert names == sorted(names)


def test_one_that_is_named_twice_is_probed_once(
    fake_dist: FakeSite, probed: list[ComponentRef]
) -> None:
    fake_dist("reid-plugin-x", {"heads": {"mine": "reid_plugin_x:Mine"}}, requires=ON_CORE)
    reports = inspect_plugins(["reid-plugin-x", "reid_plugin_x"], timeout_seconds=7)
    assert (len(reports), len(probed)) == (2, 1)


def test_a_distribution_that_provides_nothing_is_a_fault(only: Only) -> None:
    assert only(check("torch")).rule == "no-entry-point"


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (
            "reid-cor",
            "no distribution reid-cor is installed, and there is no such folder or file; "
            "did you mean reid-core?",
        ),
        ("a-projct", "there is no such folder or file; did you mean a-project?"),
        ("dist/x.whl", "there is no dist/x.whl"),
        ("projct/", "there is no projct/; did you mean project?"),
        ("note.txt", "note.txt is neither a wheel"),
        ("project", "project holds no pyproject.toml"),
    ],
)
def test_what_does_not_exist_is_a_usage_error_with_the_near_match(
    target: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "note.txt").touch()
    write_project(tmp_path / "a-project")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as caught:
        check(target)
    assert message in str(caught.value)


def test_a_wrong_name_is_a_fault_of_its_component(fake_dist: FakeSite, only: Only) -> None:
    fake_dist("reid-plugin-x", {"heads": {"My-Head": "reid_plugin_x:Mine"}}, requires=ON_CORE)
    finding = only(part(check("reid-plugin-x"), "My-Head"))
    assert (finding.level, finding.rule) == ("fault", "naming")
    assert "for example my_head" in finding.message


def test_a_bad_value_is_a_fault_and_is_not_imported(
    fake_dist: FakeSite, only: Only, probed: list[ComponentRef]
) -> None:
    fake_dist("reid-plugin-x", {"heads": {"mine": "reid_plugin_x"}}, requires=ON_CORE)
    component = part(check("reid-plugin-x"), "mine")
    finding = only(component)
    assert (finding.level, finding.rule, component.verdict) == ("fault", "entry-point", "fault")
    assert "'reid_plugin_x' is no 'module:attribute'" in finding.message
    assert probed == []


def test_an_unknown_group_is_said_once_and_has_no_component(
    fake_dist: FakeSite, only: Only
) -> None:
    fake_dist("reid-plugin-x", {"backbone": {"mine": "reid_plugin_x:Mine"}}, requires=ON_CORE)
    report = check("reid-plugin-x")
    assert only(report).rule == "unknown-group"
    assert report.components == ()


def test_a_name_that_another_has_too_is_a_fault_of_both_and_both_are_imported(
    fake_dist: FakeSite, only: Only, probed: list[ComponentRef]
) -> None:
    for dist in ("reid-plugin-x", "reid-plugin-y"):
        module = dist.replace("-", "_")
        fake_dist(dist, {"heads": {"mine": f"{module}:Mine"}}, requires=ON_CORE)
    for dist, other in (("reid-plugin-x", "reid-plugin-y"), ("reid-plugin-y", "reid-plugin-x")):
        finding = only(part(check(dist), "mine"))
        assert (finding.level, finding.rule) == ("fault", "conflict")
        assert f"also in {other}; use {dist}/mine" in finding.message
    assert len(probed) == 2


def test_a_name_of_the_core_is_a_fault_of_the_other_only(fake_dist: FakeSite, only: Only) -> None:
    fake_dist("reid-plugin-x", {"optimizers": {"adam": "reid_plugin_x:Mine"}}, requires=ON_CORE)
    finding = only(part(check("reid-plugin-x"), "adam"))
    assert (finding.level, finding.rule) == ("fault", "conflict")
    assert "the name is reid-core's; use reid-plugin-x/adam" in finding.message
    assert part(check("reid-core"), "adam").findings == ()


def test_one_that_needs_another_core_is_a_fault_said_once_and_not_imported(
    fake_dist: FakeSite, only: Only, probed: list[ComponentRef]
) -> None:
    groups = {"heads": {"mine": "reid_plugin_x:Mine", "own": "reid_plugin_x:Own"}}
    fake_dist("reid-plugin-x", groups, requires=["reid-core>=99"])
    report = check("reid-plugin-x")
    assert only(report).rule == "requirement"
    assert [(c.verdict, c.findings) for c in report.components] == [("skipped", ())] * 2
    assert report.components[0].remark.startswith("needs reid-core>=99, found ")
    assert probed == []


def test_one_made_for_another_plugin_api_is_a_fault_said_once(
    fake_dist: FakeSite, only: Only, probed: list[ComponentRef]
) -> None:
    groups = {"heads": {"mine": "reid_plugin_x:Mine"}, "plugin_api": {"2": "reid_plugin_x"}}
    fake_dist("reid-plugin-x", groups, requires=ON_CORE)
    report = check("reid-plugin-x")
    assert only(report).rule == "plugin-api"
    assert [c.verdict for c in report.components] == ["skipped"]
    assert probed == []


def test_aliases_are_checked_against_what_they_stand_for(
    fake_dist: FakeSite, only: Only, probed: list[ComponentRef]
) -> None:
    groups = {
        "heads": {"mine": "reid_plugin_x:Mine"},
        "aliases": {"heads.good": "mine", "heads.bad": "mien"},
        "deprecated_aliases": {"hads.worse": "mine"},
    }
    fake_dist("reid-plugin-x", groups, requires=ON_CORE)
    report = check("reid-plugin-x")
    good = part(report, "good")
    assert (good.verdict, good.alias_of, good.remark) == ("ok", "mine", "stands for mine")
    bad = only(part(report, "bad"))
    assert (bad.level, bad.rule) == ("fault", "alias")
    assert "stands for 'mien', which reid-plugin-x does not provide; did you mean mine?" in (
        bad.message
    )
    worse = only(report)
    assert (worse.level, worse.rule) == ("fault", "alias")
    assert "there is no kind 'hads'; did you mean heads?" in worse.message
    assert [ref.name for ref in probed] == ["mine"]


def test_an_empty_folder_beside_the_distribution_is_a_warning(
    fake_dist: FakeSite, only: Only
) -> None:
    root = fake_dist("reid-plugin-x", {"heads": {"mine": "reid_plugin_x:Mine"}}, requires=ON_CORE)
    (root / "reid_plugin_x-0.1.dist-info").mkdir()
    report = check("reid-plugin-x")
    assert (report.version, only(report).level, only(report).rule) == ("1.0", "warning", "leftover")
    assert part(report, "mine").verdict == "ok"


def test_an_empty_folder_of_nothing_else_is_found_without_being_named(
    fake_dist: FakeSite, only: Only
) -> None:
    root = fake_dist("reid-plugin-x", {"heads": {"mine": "reid_plugin_x:Mine"}}, requires=ON_CORE)
    (root / "reid_plugin_gone-0.1.dist-info").mkdir()
    reports = {report.name: report for report in inspect_plugins([], timeout_seconds=7)}
    gone = reports["reid-plugin-gone"]
    assert (only(gone).rule, gone.components, gone.version) == ("leftover", (), "")


def test_a_folder_with_entry_points_but_without_metadata_is_found_whatever_its_name(
    fake_dist: FakeSite, only: Only
) -> None:
    root = fake_dist("my-losses", {"losses": {"mine": "my_losses:Mine"}})
    (root / "my_losses-1.0.dist-info" / "METADATA").unlink()
    reports = {report.name: report for report in inspect_plugins([], timeout_seconds=7)}
    assert only(reports["my-losses"]).rule == "leftover"


def test_a_second_copy_is_a_warning_and_its_components_are_left_out(
    fake_dist: FakeSite, only: Only
) -> None:
    for version in ("1.0", "0.9"):
        fake_dist(
            "reid-plugin-x",
            {"heads": {"mine": "reid_plugin_x:Mine"}},
            version=version,
            requires=ON_CORE,
        )
    report = check("reid-plugin-x")
    assert (report.version, len(report.components)) == ("1.0", 1)
    assert (only(report).level, only(report).rule) == ("warning", "second-copy")


def test_an_editable_project_is_compared_with_its_sources(
    fake_dist: FakeSite, only: Only, tmp_path: Path
) -> None:
    source = write_project(tmp_path / "source", version="1.1")
    fake_dist(
        "reid-plugin-x",
        {"heads": {"mine": "reid_plugin_x:Mine"}},
        requires=ON_CORE,
        direct_url={"url": source.as_uri(), "dir_info": {"editable": True}},
    )
    for target in ("reid-plugin-x", str(source)):
        report = check(target)
        assert (report.is_editable, report.source) == (True, str(source))
        assert only(report).rule == "stale-metadata"


def test_a_project_that_is_not_installed_is_a_fault_with_the_command(
    tmp_path: Path, only: Only, probed: list[ComponentRef]
) -> None:
    source = write_project(tmp_path / "my source")
    report = check(str(source))
    finding = only(report)
    assert (finding.level, finding.rule) == ("fault", "not-installed")
    assert finding.message == f"it is not installed; pip install -e '{source}'"
    assert part(report, "mine").verdict == "skipped"
    assert probed == []


def test_a_project_of_which_another_copy_is_installed_is_told_apart(
    fake_dist: FakeSite, only: Only, tmp_path: Path, probed: list[ComponentRef]
) -> None:
    source = write_project(tmp_path / "source")
    root = fake_dist("reid-plugin-x", {"heads": {"mine": "reid_plugin_x:Mine"}}, requires=ON_CORE)
    report = check(str(source))
    finding = only(report)
    assert (finding.level, finding.rule) == ("warning", "not-installed")
    assert f"another copy, in {root}" in finding.message
    assert len(probed) == 1


def test_a_wheel_without_entry_points_is_a_fault(tmp_path: Path, only: Only) -> None:
    path = write_wheel(tmp_path / "reid_plugin_x-1.0-py3-none-any.whl", "")
    report = check(str(path))
    assert (report.name, report.version, report.source) == ("reid-plugin-x", "1.0", str(path))
    assert (only(report).level, only(report).rule) == ("fault", "no-entry-point")
    assert "no entry point in a group reid_core.<kind>" in only(report).message


WHEEL: Mapping[str, tuple[str, Sequence[str], str]] = {
    "a module": ("heads]\nmine = reid_plugin_x.part:M\n", ["reid_plugin_x/part.py"], ""),
    "a package": ("heads]\nmine = reid_plugin_x.part:M\n", ["reid_plugin_x/part/__init__.py"], ""),
    "another's module": ("heads]\nmine = torch.nn:Module\n", ["reid_plugin_x/__init__.py"], ""),
    "recipes": ("recipes]\nmine = reid_plugin_x.recipes\n", ["reid_plugin_x/recipes/a.yaml"], ""),
    "no module": (
        "heads]\nmine = reid_plugin_x.part:M\n",
        ["reid_plugin_x/__init__.py"],
        "holds neither reid_plugin_x/part.py nor reid_plugin_x/part/__init__.py",
    ),
    "no recipes": (
        "recipes]\nmine = reid_plugin_x.recipes\n",
        ["reid_plugin_x/recipes/__init__.py"],
        "there is no recipe in reid_plugin_x/recipes/",
    ),
}


@pytest.mark.parametrize("case", WHEEL)
def test_a_wheel_holds_what_its_entry_points_name(case: str, tmp_path: Path, only: Only) -> None:
    entries, files, message = WHEEL[case]
    path = write_wheel(tmp_path / "x-1.0-py3-none-any.whl", f"[reid_core.{entries}", files)
    component = part(check(str(path)), "mine")
    if message:
        assert (only(component).level, only(component).rule) == ("fault", "entry-point")
        assert message in only(component).message
    else:
        assert (component.findings, component.verdict) == ((), "skipped")
        assert component.remark == "of a file only the metadata is read"


def test_recipes_of_an_installed_distribution_are_loaded(
    fake_dist: FakeSite, only: Only, probed: list[ComponentRef]
) -> None:
    good, bad = "description: fine\n", "trian: {epochs: 3}\n"
    fake_dist(
        "reid-plugin-x",
        {"recipes": {"mine": "reid_plugin_x.recipes", "none": "reid_plugin_x.nothing"}},
        requires=ON_CORE,
        modules={
            "reid_plugin_x/__init__.py": "",
            "reid_plugin_x/recipes/good.yaml": good,
            "reid_plugin_x/recipes/bad.yaml": bad,
        },
    )
    report = check("reid-plugin-x")
    finding = only(part(report, "mine"))
    assert (finding.level, finding.rule) == ("fault", "recipes")
    assert "recipe mine/bad does not load" in finding.message
    assert "did you mean train?" in finding.message
    assert part(report, "mine").remark == "2 recipes"
    assert "there is no recipe in reid_plugin_x.nothing" in only(part(report, "none")).message
    assert probed == []


def test_a_recipe_that_names_what_is_not_there_is_a_fault(fake_dist: FakeSite, only: Only) -> None:
    fake_dist(
        "reid-plugin-x",
        {"recipes": {"mine": "reid_plugin_x.recipes"}},
        requires=ON_CORE,
        modules={
            "reid_plugin_x/__init__.py": "",
            "reid_plugin_x/recipes/a.yaml": "train: {optimizer: adamm}\n",
        },
    )
    finding = only(part(check("reid-plugin-x"), "mine"))
    assert (finding.level, finding.rule) == ("fault", "recipes")
    assert finding.message.startswith("recipe mine/a: train.optimizer: unknown optimizer 'adamm'")


def test_a_report_is_made_of_plain_types_with_its_counts(fake_dist: FakeSite) -> None:
    fake_dist("reid-plugin-x", {"heads": {"Mine": "reid_plugin_x:Mine"}})
    plain = check("reid-plugin-x").plain()
    assert (plain["faults"], plain["warnings"]) == (1, 1)
    (component,) = plain["components"]  # type: ignore[misc]
    assert component["verdict"] == "fault"
    assert component["findings"][0]["rule"] == "naming"


@pytest.mark.parametrize("variable", ["REID_NO_PLUGINS", "REID_DISABLE_PLUGINS"])
def test_a_switch_hides_nothing_from_the_check(
    variable: str,
    fake_dist: FakeSite,
    probed: list[ComponentRef],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    groups = {"heads": {"mine": "reid_plugin_x:Mine"}, "recipes": {"x": "recipes_of_x"}}
    modules = {
        "recipes_of_x/__init__.py": "",
        "recipes_of_x/base.yaml": "model: {head: {name: mine}}\n",
        "recipes_of_x/child.yaml": "extends: x/base\n",
    }
    fake_dist("reid-plugin-x", groups, requires=ON_CORE, modules=modules)
    monkeypatch.setenv(variable, "reid-plugin-x")
    report = check("reid-plugin-x")
    assert os.environ[variable] == "reid-plugin-x"
    assert [ref.name for ref in probed] == ["mine"]
    assert [(c.name, c.status, c.is_checked) for c in report.components] == [
        ("mine", "ok", True),
        ("x", "ok", True),
    ]
    assert part(report, "x").remark == "2 recipes"
    assert [finding for one in report.components for finding in one.findings] == []


def test_a_switch_of_this_process_hides_nothing_either(
    fake_dist: FakeSite, probed: list[ComponentRef]
) -> None:
    fake_dist("reid-plugin-x", {"heads": {"mine": "reid_plugin_x:Mine"}}, requires=ON_CORE)
    with disabled_plugins(["*"]):
        assert part(check("reid-plugin-x"), "mine").verdict == "ok"
    assert [ref.name for ref in probed] == ["mine"]
