from __future__ import annotations

from pathlib import Path

import pytest

from reid_core.inspection.installed_dist import read_environment
from reid_core.plugins.metadata import MetadataFiles
from reid_core.testing.fake_dist import FakeSite


def files(
    place: str, *, name: str = "reid-plugin-x", version: str = "1", url: str = ""
) -> MetadataFiles:
    text = f"Name: {name}\nVersion: {version}\n" if name else ""
    return MetadataFiles(place, text, "", url)


def test_everything_installed_is_read(fake_dist: FakeSite) -> None:
    root = fake_dist("reid-plugin-x", {"heads": {"mine": "x:Mine"}}, requires=["torch"])
    environment = read_environment()
    dist = environment.dists["reid-plugin-x"]
    assert dist.place == root / "reid_plugin_x-1.0.dist-info"
    assert (dist.declared.version, dist.declared.requires) == ("1.0", ("torch",))
    assert [entry.name for entry in dist.declared.entries] == ["mine"]
    assert dist.source is None
    assert {"torch", "reid-core"} <= set(environment.dists)


def test_of_two_copies_the_first_is_used_and_the_second_is_told_of() -> None:
    dists = read_environment(
        [files("/a/x-2.dist-info", version="2"), files("/b/x-1.dist-info")]
    ).dists
    assert dists["reid-plugin-x"].declared.version == "2"
    assert dists["reid-plugin-x"].copies == (Path("/b/x-1.dist-info"),)


def test_a_folder_that_is_reached_twice_is_one_copy() -> None:
    twice = [files("/a/x.dist-info"), files("/a/../a/x.dist-info")]
    assert read_environment(twice).dists["reid-plugin-x"].copies == ()


@pytest.mark.parametrize(
    "folder",
    [
        "reid_plugin_x-0.1.dist-info",
        "reid_plugin_x.egg-info",
        "reid_plugin_x-0.1-py3.11.egg-info",
        "Reid.Plugin.X-0.1.dist-info",
    ],
)
def test_an_empty_folder_is_a_leftover_of_the_distribution_it_is_named_after(folder: str) -> None:
    environment = read_environment([files(f"/a/{folder}", name=""), files("/a/x-0.2.dist-info")])
    assert environment.leftovers == {"reid-plugin-x": (Path(f"/a/{folder}"),)}
    assert environment.dists["reid-plugin-x"].place == Path("/a/x-0.2.dist-info")


@pytest.mark.parametrize(
    ("url", "source"),
    [
        ('{"url": "file:///src/my%20x", "dir_info": {"editable": true}}', Path("/src/my x")),
        ('{"url": "file:///src/x", "dir_info": {}}', None),
        ('{"url": "file:///src/x", "archive_info": {}}', None),
        ('{"url": "https://a.invalid/x", "dir_info": {"editable": true}}', None),
        ("no json", None),
        ("[]", None),
        ('{"url": 3, "dir_info": []}', None),
    ],
)
def test_the_source_folder_of_an_editable_installation(url: str, source: Path | None) -> None:
    environment = read_environment([files("/a/x.dist-info", url=url)])
    assert environment.dists["reid-plugin-x"].source == source
