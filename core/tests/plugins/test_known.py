from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from reid_core.plugins.known import KNOWN, provider_of

PLUGINS = Path(__file__).parents[3] / "plugins"


def test_the_table_is_what_the_plugins_of_this_project_declare() -> None:
    if not PLUGINS.is_dir():
        pytest.skip("the plugins of this project are not here")
    declared: dict[str, dict[str, set[str]]] = {}
    for file in PLUGINS.glob("*/pyproject.toml"):
        project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
        for group, entries in project.get("entry-points", {}).items():
            kind = group.removeprefix("reid_core.")
            if kind != "plugin_api":
                declared.setdefault(kind, {})[project["name"]] = set(entries)
    assert declared, f"no plugin in {PLUGINS}"
    table = {
        kind: {dist: set(names) for dist, names in dists.items()} for kind, dists in KNOWN.items()
    }
    assert table == declared


@pytest.mark.parametrize(
    ("kind", "name", "dist"),
    [
        ("backbones", "timm", "reid-plugin-timm"),
        ("backbones", "reid-plugin-timm/timm", "reid-plugin-timm"),
        ("backbones", "reid-plugin-osnet/timm", None),
        ("heads", "timm", None),
        ("recipes", "osnet", "reid-plugin-osnet"),
        ("rerankers", "anything", None),
    ],
)
def test_a_known_name_has_a_distribution(kind: str, name: str, dist: str | None) -> None:
    assert provider_of(kind, name) == dist
