from __future__ import annotations

import pytest

from reid_core.plugins.declaration import DeclaredEntry, parse_entry_points, read_declaration

METADATA = """Metadata-Version: 2.1
Name: Reid_Plugin.X
Version: 1.2
Requires-Dist: reid-core>=0.1
Requires-Dist: torch

Requires-Dist: this is the long description
"""


def test_name_version_and_requirements_are_read_from_the_headers_only() -> None:
    declared = read_declaration(METADATA, "")
    assert (declared.name, declared.dist, declared.version) == (
        "Reid_Plugin.X",
        "reid-plugin-x",
        "1.2",
    )
    assert declared.requires == ("reid-core>=0.1", "torch")


@pytest.mark.parametrize("text", ["", "Version: 1\n", "Name:\n", "no headers at all"])
def test_metadata_without_a_name_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="names no distribution"):
        read_declaration(text, "")


def test_entry_points_are_read_as_they_are_written_twice_if_so() -> None:
    text = "# c\n[reid_core.heads]\na = m:A\na=m:B\n; d\n\n[ console_scripts ]\nx = y:z = w\n"
    assert list(parse_entry_points(text)) == [
        DeclaredEntry("reid_core.heads", "a", "m:A"),
        DeclaredEntry("reid_core.heads", "a", "m:B"),
        DeclaredEntry("console_scripts", "x", "y:z = w"),
    ]


def test_own_entries_are_those_in_groups_that_start_as_ours_do() -> None:
    declared = read_declaration(METADATA, "[reid_core.heads]\na = m:A\n[other.heads]\nb = m:B\n")
    assert [entry.name for entry in declared.own_entries] == ["a"]
