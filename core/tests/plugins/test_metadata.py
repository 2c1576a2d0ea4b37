from __future__ import annotations

import sys
from pathlib import Path

import pytest

from reid_core.plugins.metadata import BrokenDist, Entry, installed_version, read_metadata


def entries_of(prefix: str = "fake-") -> list[Entry]:
    return [entry for entry in read_metadata().entries if entry.dist.startswith(prefix)]


def broken() -> list[BrokenDist]:
    return list(read_metadata().broken)


def test_an_entry_point_becomes_an_entry_with_its_distribution(fake_dist) -> None:
    fake_dist("fake-plugin", {"heads": {"part": "fake_plugin.part:Part"}}, version="2.1")
    assert entries_of() == [
        Entry(
            group="reid_core.heads",
            name="part",
            value="fake_plugin.part:Part",
            dist="fake-plugin",
            version="2.1",
            editable=False,
            shadowed=False,
            core=installed_version("reid-core") or "",
        )
    ]


def test_groups_of_others_are_not_ours(fake_dist) -> None:
    fake_dist(
        "fake-plugin",
        "[console_scripts]\nrun = fake:reid_core.heads\n[reid_core_x.heads]\na = b:c\n",
    )
    assert entries_of() == []


@pytest.mark.parametrize("spelling", ["Fake.Plugin", "fake_plugin", "FAKE--plugin"])
def test_distribution_names_are_normalised(fake_dist, spelling: str) -> None:
    fake_dist(spelling, {"heads": {"part": "a:b"}})
    assert [entry.dist for entry in entries_of()] == ["fake-plugin"]


@pytest.mark.parametrize(
    ("direct_url", "editable"),
    [
        ({"url": "file:///x", "dir_info": {"editable": True}}, True),
        ({"url": "file:///x", "dir_info": {}}, False),
        ({"url": "https://x/y.whl"}, False),
        ({"dir_info": None}, False),
        ([], False),
        (None, False),
    ],
)
def test_editable_installs_are_told_from_others(
    fake_dist, direct_url: object, editable: bool
) -> None:
    fake_dist("fake-plugin", {"heads": {"part": "a:b"}}, direct_url=direct_url)
    assert [entry.editable for entry in entries_of()] == [editable]


def test_a_damaged_direct_url_is_no_editable_install(fake_dist) -> None:
    root = fake_dist("fake-plugin", {"heads": {"part": "a:b"}}, direct_url={})
    next(root.glob("*.dist-info/direct_url.json")).write_text("{", encoding="utf-8")
    assert [entry.editable for entry in entries_of()] == [False]


def test_the_second_copy_of_a_distribution_is_shadowed_and_names_the_first(fake_dist) -> None:
    first = fake_dist("fake-plugin", {"heads": {"part": "new:Part"}}, version="2.0")
    fake_dist("Fake_Plugin", {"heads": {"part": "old:Part", "gone": "old:Gone"}}, version="1.0")
    assert [(entry.value, entry.shadowed) for entry in entries_of()] == [
        ("new:Part", False),
        ("old:Part", True),
        ("old:Gone", True),
    ]
    assert [entry.used_copy for entry in entries_of()] == ["", *[f"2.0 in {first}"] * 2]


def test_a_copy_behind_one_that_provides_nothing_is_shadowed_too(fake_dist) -> None:
    fake_dist("fake-plugin", "[console_scripts]\nrun = a:b\n", version="2.0")
    fake_dist("fake-plugin", {"heads": {"part": "old:Part"}}, version="1.0")
    assert [(entry.value, entry.shadowed) for entry in entries_of()] == [("old:Part", True)]


def test_two_equal_copies_leave_one_that_counts(fake_dist) -> None:
    for _ in range(2):
        fake_dist("fake-plugin", {"heads": {"part": "a:Part"}})
    assert [entry.shadowed for entry in entries_of()] == [False, True]


def test_metadata_in_the_working_folder_beside_an_installed_one_counts_once(
    fake_dist, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_dist("fake-plugin", {"heads": {"part": "a:Part"}})
    info = tmp_path / "project" / "fake_plugin.egg-info"
    info.mkdir(parents=True)
    (info / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: fake-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[reid_core.heads]\npart = a:Part\n")
    monkeypatch.chdir(info.parent)
    monkeypatch.setattr(sys, "path", ["", *sys.path])  # as python -m has it
    assert [(e.version, e.shadowed) for e in entries_of()] == [("1.0", False), ("1.0", True)]


def test_a_folder_that_the_path_has_twice_counts_once(
    fake_dist, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = fake_dist("fake-plugin", {"heads": {"part": "a:Part"}})
    (tmp_path / "lib64").symlink_to(root)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "lib64"), str(root), *sys.path])
    assert [entry.shadowed for entry in entries_of()] == [False]


def test_a_distribution_without_metadata_is_reported_and_harms_nobody(fake_dist) -> None:
    root = fake_dist("fake-broken", {"heads": {"part": "a:b"}})
    info = next(root.glob("*.dist-info"))
    (info / "METADATA").unlink()
    fake_dist("fake-whole", {"heads": {"part": "a:b"}})
    assert [entry.dist for entry in entries_of("fake-w")] == ["fake-whole"]
    assert [str(one) for one in broken()] == [
        f"{info} cannot be read: ValueError: there is no METADATA; delete that folder, or "
        "reinstall its distribution"
    ]


@pytest.mark.parametrize("leftover", ["reid_plugin_x-0.1", "Reid.Plugin.X-0.1"])
def test_an_empty_folder_left_over_is_reported_and_hides_nothing(fake_dist, leftover: str) -> None:
    root = fake_dist("reid-plugin-x", {"heads": {"part": "a:b"}}, version="0.2")
    (root / f"{leftover}.dist-info").mkdir()
    found = entries_of("reid-plugin-x")
    assert [(e.version, e.shadowed) for e in found] == [("0.2", False)]
    place = root / f"{leftover}.dist-info"
    assert broken() == [BrokenDist(str(place), "holds no METADATA")]


def test_an_empty_folder_of_others_is_not_ours_to_report(fake_dist) -> None:
    root = fake_dist("fake-plugin", {"heads": {"part": "a:b"}}, version="0.2")
    (root / "fake_plugin-0.1.dist-info").mkdir()
    (root / "notes-1.dist-info").mkdir()
    assert [(e.version, e.shadowed) for e in entries_of()] == [("0.2", False)]
    assert broken() == []


def test_entry_points_that_cannot_be_parsed_are_reported_and_harm_nobody(fake_dist) -> None:
    fake_dist("fake-broken", "[reid_core.heads]\nno equals sign\n")
    fake_dist("fake-whole", {"heads": {"part": "a:b"}})
    assert [entry.dist for entry in entries_of()] == ["fake-whole"]
    (report,) = broken()
    assert report.place.endswith("fake_broken-1.0.dist-info")
    assert "cannot be read" in report.reason


@pytest.mark.parametrize(
    ("text", "api"),
    [
        ("", ()),
        ("1 = fake", ("1",)),
        ("1 = fake\n1 = fake.other", ("1",)),
        ("2 = fake\n1 = fake", ("2", "1")),
        ("two = fake", ("two",)),
    ],
)
def test_a_distribution_may_say_for_which_plugin_api_it_was_made(fake_dist, text, api) -> None:
    group = f"[reid_core.plugin_api]\n{text}\n" if text else ""
    fake_dist("fake-plugin", f"[reid_core.heads]\npart = a:b\n{group}")
    assert {entry.api for entry in entries_of()} == {api}


@pytest.mark.parametrize(
    ("requires", "needs"),
    [
        (["reid-core>=99"], "reid-core>=99"),
        (["Reid_Core >= 99, < 100"], "reid-core<100,>=99"),
        (["reid-core>=0.1"], ""),
        (["reid-core"], ""),
        (["torch>=99"], ""),
        (["reid-core>=99; extra == 'new'"], ""),
        (["reid-core>=99; python_version < '3'"], ""),
        (["no requirement at all", "reid-core>=99"], "reid-core>=99"),
    ],
)
def test_a_distribution_that_needs_another_core_says_so(
    fake_dist, requires: list[str], needs: str
) -> None:
    fake_dist("fake-plugin", {"heads": {"part": "a:b"}}, requires=requires)
    assert [entry.needs for entry in entries_of()] == [needs]


@pytest.mark.parametrize(
    ("core", "needs"),
    [("0.2.0rc1", ""), ("0.1.0", "reid-core>=0.1.5"), (None, "")],
)
def test_a_core_between_releases_or_not_installed_is_not_refused(
    fake_dist, monkeypatch: pytest.MonkeyPatch, core: str | None, needs: str
) -> None:
    fake_dist("fake-plugin", {"heads": {"part": "a:b"}}, requires=["reid-core>=0.1.5"])
    monkeypatch.setattr("reid_core.plugins.metadata.installed_version", lambda dist: core)
    assert [entry.needs for entry in entries_of()] == [needs]


def test_versions_are_read_from_metadata(fake_dist) -> None:
    fake_dist("Fake.Plugin", {}, version="3.4")
    assert installed_version("fake-plugin") == "3.4"
    assert installed_version("fake-nothing") is None


def test_a_distribution_without_metadata_has_no_version(fake_dist) -> None:
    root = fake_dist("fake-plugin", {})
    next(root.glob("*.dist-info/METADATA")).unlink()
    assert installed_version("fake-plugin") is None


def test_reading_imports_nothing(fake_dist) -> None:
    fake_dist(
        "fake-plugin",
        {"heads": {"part": "fake_noisy.part:Part"}},
        modules={"fake_noisy/__init__.py": "raise SystemExit(3)\n"},
    )
    assert len(entries_of()) == 1
    assert "fake_noisy" not in sys.modules
