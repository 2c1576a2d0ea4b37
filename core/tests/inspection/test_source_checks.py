from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from reid_core.inspection.installed_dist import InstalledDist
from reid_core.inspection.source_checks import (
    copy_findings,
    editable_findings,
    leftover_findings,
)
from reid_core.plugins.declaration import Declaration, DeclaredEntry

ENTRIES = {"heads": {"small": "x:Small"}, "losses": {"mine": "x:Mine"}}


def installed(source: Path, *, copies: tuple[Path, ...] = ()) -> InstalledDist:
    entries = tuple(
        DeclaredEntry(f"reid_core.{kind}", name, value)
        for kind, names in ENTRIES.items()
        for name, value in names.items()
    )
    others = (DeclaredEntry("console_scripts", "run", "x:main"),)
    declared = Declaration("reid-plugin-x", "1.0", (), (*entries, *others))
    return InstalledDist(declared, Path("/site/x.dist-info"), source, copies)


def write(
    folder: Path,
    entries: Mapping[str, Mapping[str, str]],
    *,
    version: str = 'version = "1.0"',
    backend: str = "hatchling.build",
) -> None:
    lines = [f'[build-system]\nbuild-backend = "{backend}"\n[project]\nname = "reid-plugin-x"']
    lines.append(version)
    for kind, names in entries.items():
        lines.append(f'[project.entry-points."reid_core.{kind}"]')
        lines += [f"{name} = {json.dumps(value)}" for name, value in names.items()]
    (folder / "pyproject.toml").write_text("\n".join(lines))


def test_nothing_is_said_where_sources_and_metadata_agree(tmp_path: Path) -> None:
    write(tmp_path, ENTRIES)
    assert editable_findings(installed(tmp_path)) == ()


def test_spaces_in_a_value_make_no_difference(tmp_path: Path) -> None:
    write(tmp_path, {**ENTRIES, "heads": {"small": "x : Small"}})
    assert editable_findings(installed(tmp_path)) == ()


def test_every_difference_is_named_with_the_command_that_mends_it(tmp_path: Path) -> None:
    changed = {"heads": {"large": "x:Large"}, "losses": {"mine": "x.part:Mine"}}
    write(tmp_path, changed, version='version = "1.1"')
    (finding,) = editable_findings(installed(tmp_path))
    assert (finding.level, finding.rule) == ("fault", "stale-metadata")
    assert f"is not that of {tmp_path / 'pyproject.toml'} any more: " in finding.message
    for part in (
        "version 1.0 is 1.1 now",
        "head large is new",
        "head small is gone",
        "loss mine is x.part:Mine now, not x:Mine",
    ):
        assert part in finding.message
    assert finding.message.endswith(f"pip install -e {tmp_path}")


def test_what_the_build_decides_on_is_not_compared(tmp_path: Path) -> None:
    write(tmp_path, {}, version='dynamic = ["version", "entry-points"]')
    assert editable_findings(installed(tmp_path)) == ()


def test_a_source_folder_that_has_gone_is_a_fault(tmp_path: Path) -> None:
    (finding,) = editable_findings(installed(tmp_path / "gone"))
    assert (finding.level, finding.rule) == ("fault", "stale-metadata")
    assert f"in editable mode from {tmp_path / 'gone'}, which is not there" in finding.message
    assert finding.message.endswith(
        "any more; pip install -e <where the project is now>, or pip uninstall reid-plugin-x"
    )


def test_a_pyproject_that_cannot_be_read_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project")
    (finding,) = editable_findings(installed(tmp_path))
    assert (finding.level, finding.rule) == ("fault", "stale-metadata")
    assert "pyproject.toml cannot be read" in finding.message


@pytest.mark.parametrize("place", ["reid_plugin_x.egg-info", "src/reid_plugin_x.egg-info"])
def test_an_egg_info_in_the_sources_is_a_warning(tmp_path: Path, place: str) -> None:
    write(tmp_path, ENTRIES)
    (tmp_path / place).mkdir(parents=True)
    (finding,) = editable_findings(installed(tmp_path))
    assert (finding.level, finding.rule) == ("warning", "leftover")
    assert finding.message.endswith(f"rm -r {tmp_path / place}")


def test_setuptools_may_keep_its_egg_info(tmp_path: Path) -> None:
    write(tmp_path, ENTRIES, backend="setuptools.build_meta")
    (tmp_path / "src" / "reid_plugin_x.egg-info").mkdir(parents=True)
    assert editable_findings(installed(tmp_path)) == ()


def test_leftovers_and_second_copies_are_warnings_with_what_to_type() -> None:
    (leftover,) = leftover_findings([Path("/site/my x-0.1.dist-info")])
    assert (leftover.level, leftover.rule) == ("warning", "leftover")
    assert leftover.message.endswith("rm -r '/site/my x-0.1.dist-info'")
    (copy,) = copy_findings(installed(Path("/src"), copies=(Path("/b/x.dist-info"),)))
    assert (copy.level, copy.rule) == ("warning", "second-copy")
    assert "/site/x.dist-info is used and /b/x.dist-info is not" in copy.message
    assert "pip uninstall reid-plugin-x" in copy.message
