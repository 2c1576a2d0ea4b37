from __future__ import annotations

import pytest

from reid_core.errors import PluginError
from reid_core.plugins.index import PluginIndex


def marks(index: PluginIndex, name: str) -> dict[str, tuple[str, str]]:
    return {ref.dist: (ref.status, ref.detail) for ref in index.refs if ref.name == name}


def test_two_claims_on_a_name_each_say_who_else_has_it_and_how_to_choose(fake_dist, scan) -> None:
    for dist in ("fake-a", "fake-b", "fake-c"):
        fake_dist(dist, {"heads": {"part": "m:Part", f"own_{dist[-1]}": "m:Part"}})
    index = scan()
    assert marks(index, "part") == {
        "fake-a": ("conflict", "also in fake-b, fake-c; use fake-a/part"),
        "fake-b": ("conflict", "also in fake-a, fake-c; use fake-b/part"),
        "fake-c": ("conflict", "also in fake-a, fake-b; use fake-c/part"),
    }
    assert index.find("heads", "own_c").dist == "fake-c"


def test_a_name_of_the_core_is_the_cores_whoever_else_declares_it(fake_dist, scan) -> None:
    for dist in ("fake-a", "fake-b"):
        fake_dist(dist, {"optimizers": {"adam": "m:Adam"}})
    index = scan("fake-", "reid-core")
    assert marks(index, "adam") == {
        "reid-core": ("ok", ""),
        "fake-a": ("conflict", "the name is reid-core's; use fake-a/adam"),
        "fake-b": ("conflict", "the name is reid-core's; use fake-b/adam"),
    }
    assert index.find("optimizers", "adam").dist == "reid-core"
    assert index.find("optimizers", "reid-core/adam").dist == "reid-core"
    assert index.find("optimizers", "fake-b/adam").value == "m:Adam"


def test_a_name_of_the_core_in_another_kind_is_free(fake_dist, scan) -> None:
    fake_dist("fake-a", {"heads": {"adam": "m:Adam"}})
    assert marks(scan(), "adam") == {"fake-a": ("ok", "")}


def test_one_distribution_that_declares_a_name_twice_says_so(fake_dist, scan) -> None:
    fake_dist("fake-a", "[reid_core.heads]\npart = a:Part\npart = a:Other\n")
    assert marks(scan(), "part") == {"fake-a": ("conflict", "declared 2 times by fake-a")}


def test_of_two_claims_the_one_that_is_refused_says_why_first(fake_dist, scan) -> None:
    fake_dist("fake-a", {"heads": {"part": "m:Part"}}, requires=["reid-core>=99"])
    fake_dist("fake-b", {"heads": {"part": "m:Part"}})
    status, detail = marks(scan(), "part")["fake-a"]
    assert status == "conflict"
    assert detail.startswith("needs reid-core>=99, found ")
    assert detail.endswith("; also in fake-b")
    with pytest.raises(PluginError, match=r"needs reid-core>=99"):
        scan().find("heads", "fake-a/part")
