from __future__ import annotations

import sys

import pytest

from reid_core.errors import PluginError
from reid_core.plugins.index import PluginIndex, installed, rescan


def message_of(index: PluginIndex, name: str, kind: str = "heads") -> str:
    with pytest.raises(PluginError) as raised:
        index.find(kind, name)
    return str(raised.value)


def test_components_are_listed_by_kind_name_and_distribution(fake_dist, scan) -> None:
    fake_dist("fake-b", {"losses": {"x": "b:x"}, "heads": {"z": "b:z", "y": "b:y"}})
    fake_dist("fake-a", {"heads": {"y": "a:y"}})
    index = scan()
    assert [(r.kind, r.name, r.dist) for r in index.refs] == [
        ("heads", "y", "fake-a"),
        ("heads", "y", "fake-b"),
        ("heads", "z", "fake-b"),
        ("losses", "x", "fake-b"),
    ]
    assert index.dists() == ("fake-a", "fake-b")
    assert [r.name for r in index.by_kind("losses")] == ["x"]


def test_scanning_and_finding_import_nothing(fake_dist, scan) -> None:
    fake_dist(
        "fake-a",
        {"heads": {"part": "fake_bomb:Part"}},
        modules={"fake_bomb.py": "raise SystemExit(3)\n"},
    )
    assert scan().find("heads", "part").value == "fake_bomb:Part"
    assert "fake_bomb" not in sys.modules


def test_one_name_of_two_distributions_is_a_conflict_that_names_both_when_it_is_used(
    fake_dist, scan
) -> None:
    fake_dist("fake-a", {"heads": {"part": "a:Part", "free": "a:Free"}})
    fake_dist("fake-b", {"heads": {"part": "b:Part"}}, version="2.0")
    index = scan()
    assert [(r.name, r.status) for r in index.refs] == [
        ("free", "ok"),
        ("part", "conflict"),
        ("part", "conflict"),
    ]
    assert [r.dist for r in index.problems()] == ["fake-a", "fake-b"]
    assert message_of(index, "part") == (
        "head 'part' is provided by 2 distributions: fake-a 1.0 (a:Part), fake-b 2.0 (b:Part); "
        "say which one: fake-a/part or fake-b/part, or uninstall the other"
    )
    assert index.find("heads", "free").dist == "fake-a"


def test_a_qualified_name_ends_a_conflict_however_the_distribution_is_spelled(
    fake_dist, scan
) -> None:
    fake_dist("fake-a", {"heads": {"part": "a:Part"}})
    fake_dist("fake-b", {"heads": {"part": "b:Part"}})
    index = scan()
    assert index.find("heads", "fake-b/part").value == "b:Part"
    assert index.find("heads", "Fake_B/part").value == "b:Part"


def test_one_name_in_two_kinds_is_no_conflict(fake_dist, scan) -> None:
    fake_dist("fake-a", {"heads": {"part": "a:Head"}, "losses": {"part": "a:Loss"}})
    index = scan()
    assert index.problems() == ()
    assert index.find("losses", "part").value == "a:Loss"


def test_a_second_copy_of_a_distribution_is_no_conflict(fake_dist, scan) -> None:
    fake_dist("fake-a", {"heads": {"part": "a:New"}}, version="2")
    fake_dist("fake-a", {"heads": {"part": "a:Old", "gone": "a:Gone"}}, version="1")
    index = scan()
    assert {(r.value, r.status) for r in index.refs} == {
        ("a:New", "ok"),
        ("a:Old", "shadowed"),
        ("a:Gone", "shadowed"),
    }
    assert index.find("heads", "part").value == "a:New"
    assert "second installed copy of fake-a" in message_of(index, "gone")
    assert "pip uninstall fake-a" in message_of(index, "gone")


def test_exact_duplicates_within_one_distribution_collapse(fake_dist, scan) -> None:
    fake_dist("fake-a", "[reid_core.heads]\npart = a:Part\npart = a : Part\n")
    index = scan()
    assert [r.status for r in index.refs] == ["ok"]
    assert index.find("heads", "part").value == "a:Part"


def test_a_distribution_that_contradicts_itself_is_told_to_its_author(fake_dist, scan) -> None:
    fake_dist("fake-a", "[reid_core.heads]\npart = a:Part\npart = a:Other\n")
    for name in ("part", "fake-a/part"):
        text = message_of(scan(), name)
        assert "declared 2 times by one distribution" in text
        assert "a:Part" in text
        assert "a:Other" in text


def test_bad_metadata_is_listed_and_an_error_only_when_it_is_used(fake_dist, scan) -> None:
    fake_dist("fake-a", {"heads": {"part": "not an import", "good": "a:Good"}})
    index = scan()
    assert [(r.name, r.status) for r in index.problems()] == [("part", "bad-metadata")]
    assert index.find("heads", "good").value == "a:Good"
    text = message_of(index, "part")
    assert "head 'part' of fake-a 1.0" in text
    assert "cannot be used: 'not an import' is no 'module:attribute'; report it to its" in text
    assert "pip uninstall fake-a" in text


def test_bad_metadata_takes_a_name_from_nobody(fake_dist, scan) -> None:
    fake_dist("fake-a", {"heads": {"part": "not an import"}})
    fake_dist("fake-b", {"heads": {"part": "b:Part"}})
    index = scan()
    assert index.find("heads", "part").dist == "fake-b"
    assert index.find("heads", "part").status == "ok"


def test_a_conflict_of_others_does_not_hide_what_is_wrong_with_a_third(fake_dist, scan) -> None:
    for dist, value in [("fake-a", "a:Part"), ("fake-b", "b:Part"), ("fake-c", "no import")]:
        fake_dist(dist, {"heads": {"part": value}})
    assert [r.status for r in scan().refs] == ["conflict", "conflict", "bad-metadata"]


def test_a_component_for_another_core_stops_only_the_run_that_names_it(fake_dist, scan) -> None:
    fake_dist("fake-a", {"heads": {"part": "a:Part"}}, requires=["reid-core>=99"], version="3")
    fake_dist("fake-b", {"heads": {"other": "b:Part"}})
    index = scan()
    assert {(r.name, r.status) for r in index.refs} == {("part", "incompatible"), ("other", "ok")}
    assert index.find("heads", "other").dist == "fake-b"
    text = message_of(index, "part")
    assert "head 'part' of fake-a 3 (a:Part) needs reid-core>=99" in text
    assert "pip install 'reid-core>=99'" in text
    assert "pip install --upgrade fake-a" in text


def test_an_incompatible_component_still_conflicts_and_its_qualified_name_is_refused(
    fake_dist, scan
) -> None:
    fake_dist("fake-a", {"heads": {"part": "a:Part"}}, requires=["reid-core>=99"])
    fake_dist("fake-b", {"heads": {"part": "b:Part"}})
    assert "say which one: fake-a/part or fake-b/part" in message_of(scan(), "part")
    assert "needs reid-core>=99" in message_of(scan(), "fake-a/part")
    assert scan().find("heads", "fake-b/part").value == "b:Part"


def test_an_unknown_name_is_answered_with_the_nearest_and_all_known_ones(fake_dist, scan) -> None:
    fake_dist("fake-a", {"heads": {"part": "a:Part", "global": "a:Global"}})
    assert message_of(scan(), "prt") == (
        "unknown head 'prt'; did you mean part? (fake-a: global, part); "
        "'reid-plugins list' shows what each distribution provides"
    )


def test_an_unknown_qualified_name_is_answered_with_a_qualified_one(fake_dist, scan) -> None:
    fake_dist("fake-a", {"heads": {"part": "a:Part"}})
    assert "did you mean fake-a/part?" in message_of(scan(), "fake-a/prat")


def test_a_name_of_another_kind_is_pointed_out(fake_dist, scan) -> None:
    fake_dist("fake-a", {"losses": {"part": "a:Part"}})
    text = message_of(scan(), "part")
    assert "unknown head 'part' (none is installed)" in text
    assert "(none is installed); fake-a has a loss of that name; 'reid-plugins list'" in text


def test_a_group_that_is_that_of_no_kind_is_pointed_out_with_the_right_one(fake_dist, scan) -> None:
    fake_dist("fake-a", {"head": {"part": "a:Part"}, "zzz": {"part": "a:Part"}})
    text = message_of(scan(), "part")
    mend = "report it to its author, or uninstall it: pip uninstall fake-a"
    assert (
        f"; fake-a declares it in the group reid_core.head; did you mean reid_core.heads? {mend}; "
        f"fake-a declares it in the group reid_core.zzz, which is that of no kind; {mend}; "
        "'reid-plugins list'"
    ) in text


def test_an_alias_of_no_kind_is_pointed_out(fake_dist, scan) -> None:
    fake_dist("fake-a", {"heads": {"good": "a:Good"}, "aliases": {"hads.part": "good"}})
    assert (
        "; fake-a declares it as an alias, but there is no kind 'hads'; did you mean heads? report"
    ) in message_of(scan(), "part")


def test_what_is_wrong_in_editable_mode_is_mended_in_the_project(fake_dist, scan, tmp_path) -> None:
    url = {"url": tmp_path.as_uri(), "dir_info": {"editable": True}}
    heads = "[reid_core.heads]\npart = a.b.Part\ntwice = a:A\ntwice = a:B\n"
    text = f"{heads}[reid_core.head]\nlost = a:A\n"
    fake_dist("fake-a", text, direct_url=url)
    mend = f"mend its pyproject.toml and install it again: pip install -e {tmp_path}"
    assert message_of(scan(), "part") == (
        "head 'part' of fake-a 1.0 cannot be used: 'a.b.Part' is no 'module:attribute'; did you "
        f"mean 'a.b:Part'? {mend}"
    )
    assert message_of(scan(), "twice").endswith(f"; {mend}")
    assert f"did you mean reid_core.heads? {mend}; " in message_of(scan(), "lost")


def test_names_that_the_caller_knows_are_offered_too(fake_dist, scan) -> None:
    fake_dist("fake-a", {"heads": {"part": "a:Part"}})
    with pytest.raises(
        PluginError, match=r"did you mean mine\? \(fake-a: part; this process: mine\)"
    ):
        scan().find("heads", "mime", also=["mine"])


def test_the_cores_own_components_are_found_on_the_same_path() -> None:
    ref = installed().find("samplers", "identity")
    assert ref.dist == "reid-core"
    assert ref.value == "reid_core.data.samplers.identity:IdentitySampler"


def test_a_process_scans_once_until_it_is_told_to_scan_again(fake_dist) -> None:
    # The fixture scans again by itself, so the entry point comes in beside it.
    root = fake_dist("fake-a", {"heads": {"part": "a:Part"}})
    before = installed()
    entry_points = next(root.glob("*.dist-info")) / "entry_points.txt"
    entry_points.write_text("[reid_core.heads]\nlater = a:Later\n")
    assert installed() is before
    assert [ref.name for ref in before.refs if ref.dist == "fake-a"] == ["part"]
    rescan()
    assert installed().find("heads", "later").dist == "fake-a"


def test_every_installed_component_of_this_workspace_is_ok() -> None:
    ours = [r for r in installed().refs if r.dist.startswith(("reid-core", "reid-plugin-"))]
    assert [r for r in ours if r.status != "ok"] == []


def test_known_names_are_listed_by_distribution(fake_dist, scan) -> None:
    fake_dist("fake-b", {"heads": {"z": "b:z", "same": "b:s"}})
    fake_dist("fake-a", {"heads": {"y": "a:y", "same": "a:s", "broken": "no import"}})
    assert "(fake-a: same, y; fake-b: same, z)" in message_of(scan(), "qqq")


def test_many_known_names_are_counted_and_not_listed(fake_dist, scan) -> None:
    fake_dist("fake-a", {"heads": {f"head_{i}": "a:y" for i in range(40)}})
    assert "(fake-a: head_0, head_1, " in message_of(scan(), "qqq")
    fake_dist("fake-a-b", {"heads": {"one_more": "a:y"}})
    assert "unknown head 'qqq' (41 are installed, by fake-a, fake-a-b); 'rei" in message_of(
        scan(), "qqq"
    )


# Case B155.
def test_a_name_in_the_wrong_case_is_told_so(fake_dist, scan) -> None:
    fake_dist("fake-a", {"datasets": {"mydata": "a:b", "other": "a:c"}})
    text = message_of(scan(), "MyData", "datasets")
    assert text.startswith(
        "unknown dataset 'MyData'; did you mean mydata? upper and lower case differ (fake-a: "
        "mydata, other)"
    )


def test_a_name_of_this_project_that_is_not_installed_is_answered_with_the_package(
    fake_dist, scan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reid_core.plugins.refusals.installed_version", lambda dist: None)
    for name in ("osnet_x1_0", "reid-plugin-osnet/osnet_x1_0"):
        assert message_of(scan(), name, "backbones") == (
            f"unknown backbone {name!r}; it is known to be provided by reid-plugin-osnet: "
            "pip install reid-plugin-osnet"
        )


def test_a_name_near_one_of_this_project_that_is_not_installed_is_answered_with_both(
    scan, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert message_of(scan(), "osnet_x025", "backbones").startswith(
        "unknown backbone 'osnet_x025' ("
    )
    monkeypatch.setattr("reid_core.plugins.refusals.installed_version", lambda dist: None)
    assert message_of(scan(), "osnet_x025", "backbones").startswith(
        "unknown backbone 'osnet_x025'; did you mean osnet_x0_25? it comes with "
        "reid-plugin-osnet: pip install reid-plugin-osnet (none is installed); 'reid-plugins list'"
    )


def test_an_old_release_without_a_known_name_is_answered_with_an_upgrade(
    scan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reid_core.plugins.refusals.installed_version", lambda dist: "0.0.1")
    assert message_of(scan(), "osnet_x1_0", "backbones") == (
        "unknown backbone 'osnet_x1_0'; it is known to be provided by reid-plugin-osnet, and "
        "version 0.0.1, which is installed, does not have it: pip install --upgrade "
        "reid-plugin-osnet"
    )


def test_a_known_name_qualified_by_another_distribution_is_only_unknown(scan) -> None:
    assert "known to be provided" not in message_of(scan(), "fake-a/osnet_x1_0", "backbones")


def test_metadata_that_cannot_be_read_is_pointed_out_when_a_name_is_unknown(
    fake_dist, scan
) -> None:
    root = fake_dist("fake-a", {"heads": {"part": "a:b"}})
    next(root.glob("*.dist-info/METADATA")).unlink()
    text = message_of(scan(), "part")
    assert f"; it may be in one that cannot be read: {root}/fake_a-1.0.dist-info cannot" in text


def test_a_component_for_another_plugin_api_stops_only_the_run_that_names_it(
    fake_dist, scan
) -> None:
    api = "[reid_core.plugin_api]\n2 = a\n"
    fake_dist("fake-a", f"[reid_core.heads]\npart = a:Part\n{api}", version="3")
    fake_dist("fake-b", {"heads": {"other": "b:Part"}})
    index = scan()
    assert [(r.name, r.status) for r in index.refs] == [("other", "ok"), ("part", "incompatible")]
    assert message_of(index, "part") == (
        "head 'part' of fake-a 3 (a:Part) was made for plugin API 2, and this core has plugin API "
        "1; pip install --upgrade reid-core, or a release of fake-a for this core: pip install "
        "--upgrade fake-a"
    )


def test_a_plugin_api_that_is_no_number_is_an_error_only_when_it_is_used(fake_dist, scan) -> None:
    fake_dist("fake-a", "[reid_core.heads]\npart = a:Part\n[reid_core.plugin_api]\nx = a\n")
    assert [(r.kind, r.name, r.status) for r in scan().refs] == [("heads", "part", "bad-metadata")]
    assert "made for plugin API 'x'; expected a whole number; report" in message_of(scan(), "part")


def test_the_third_distribution_is_found_when_the_second_repeats_the_first(fake_dist, scan) -> None:
    for dist in ("fake-a", "fake-a", "fake-b"):
        fake_dist(dist, {"heads": {f"of_{dist[-1]}": "m:Part"}})
    index = scan()
    assert index.find("heads", "of_a").status == "ok"
    assert index.find("heads", "of_b").dist == "fake-b"
