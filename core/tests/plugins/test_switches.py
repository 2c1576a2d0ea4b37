from __future__ import annotations

import sys

import pytest

from reid_core.errors import PluginError
from reid_core.plugins.index import PluginIndex, disabled_plugins, installed, rescan
from reid_core.plugins.registry import Registry
from reid_core.plugins.switches import Switch, active_switches


@pytest.fixture
def two(fake_dist):
    """Two distributions with one name in common, that cannot be imported."""
    for dist in ("fake-a", "fake-b"):
        groups = {"heads": {"part": "fake_bomb:Part", f"own_{dist[-1]}": "fake_bomb:Part"}}
        fake_dist(dist, groups, modules={"fake_bomb.py": "raise SystemExit(3)\n"})
    rescan()
    yield
    rescan()


def statuses() -> dict[str, str]:
    refs = [ref for ref in installed().refs if ref.dist.startswith("fake-")]
    return {ref.qualified: ref.status for ref in refs}


def message_of(name: str) -> str:
    with pytest.raises(PluginError) as raised:
        Registry("heads").get(name)
    return str(raised.value)


def test_a_disabled_distribution_is_listed_as_such_and_gives_its_names_up(two) -> None:
    assert set(statuses().values()) == {"conflict", "ok"}
    with disabled_plugins(["Fake_A"]):
        assert statuses() == {
            "fake-a/own_a": "disabled",
            "fake-a/part": "disabled",
            "fake-b/own_b": "ok",
            "fake-b/part": "ok",
        }
        assert installed().find("heads", "part").dist == "fake-b"
        assert "own_a" not in Registry("heads").names()
    assert set(statuses().values()) == {"conflict", "ok"}


def test_nothing_of_a_disabled_distribution_is_imported(two) -> None:
    with disabled_plugins(["fake-a"]):
        message_of("own_a")
    assert "fake_bomb" not in sys.modules


@pytest.mark.parametrize("name", ["own_a", "fake-a/own_a", "Fake.A/own_a"])
def test_naming_what_is_disabled_says_which_switch_did_it_and_how_to_undo_it(two, name) -> None:
    with disabled_plugins(["fake-a"]):
        assert message_of(name) == (
            "head 'own_a' of fake-a 1.0 is disabled by plugins.disable; take fake-a out of "
            "plugins.disable to use it"
        )
    with disabled_plugins(["*"], source="--no-plugins"):
        assert message_of(name).endswith(
            "is disabled by --no-plugins; leave --no-plugins out to use it"
        )
    with disabled_plugins(["*"]):
        assert message_of(name).endswith("; take '*' out of plugins.disable to use it")


@pytest.mark.parametrize("value", ["1", "true", "yes", "please"])
def test_an_environment_variable_disables_all_but_the_core(
    two, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("REID_NO_PLUGINS", value)
    assert set(statuses().values()) == {"disabled"}
    assert installed().find("optimizers", "adam").dist == "reid-core"
    assert message_of("own_a").endswith(
        "is disabled by REID_NO_PLUGINS; unset REID_NO_PLUGINS to use it"
    )


@pytest.mark.parametrize("value", ["", " ", "0", "false", "No", "off"])
def test_a_word_for_no_disables_nothing(two, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("REID_NO_PLUGINS", value)
    assert "disabled" not in statuses().values()


@pytest.mark.parametrize("value", ["fake-a,fake-b", " Fake_A , FAKE.B ", "fake-a,,fake-b,", "*"])
def test_an_environment_variable_names_distributions(
    two, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("REID_DISABLE_PLUGINS", value)
    assert set(statuses().values()) == {"disabled"}
    assert [switch.dists for switch in active_switches()] in ([("fake-a", "fake-b")], [("*",)])
    text = message_of("own_b")
    assert "is disabled by REID_DISABLE_PLUGINS; take " in text
    assert text.endswith(" out of REID_DISABLE_PLUGINS to use it")


@pytest.mark.parametrize("value", ["", " ", ","])
def test_an_empty_list_disables_nothing(two, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("REID_DISABLE_PLUGINS", value)
    assert active_switches() == ()


def test_the_core_cannot_be_left_out() -> None:
    with disabled_plugins(["*", "reid-core"]):
        assert installed().find("optimizers", "adam").status == "ok"


def test_switches_add_up_inside_each_other(two) -> None:
    with disabled_plugins(["fake-a"]):
        with disabled_plugins(["fake-b"]):
            assert set(statuses().values()) == {"disabled"}
            with disabled_plugins(["fake-b"]), disabled_plugins([]):
                assert len(active_switches()) == 2
        assert statuses()["fake-b/part"] == "ok"
    assert active_switches() == ()


def test_a_switch_ends_with_an_exception() -> None:
    with pytest.raises(ZeroDivisionError), disabled_plugins(["fake-a"]):
        raise ZeroDivisionError
    assert active_switches() == ()


def test_a_second_copy_stays_one_when_its_distribution_is_disabled(fake_dist, scan) -> None:
    fake_dist("fake-a", {"heads": {"part": "new:Part"}}, version="2")
    fake_dist("fake-a", {"heads": {"part": "old:Part"}}, version="1")
    with disabled_plugins(["fake-a"]):
        index = scan()
    assert {(ref.version, ref.status, ref.detail.partition(" ")[0]) for ref in index.refs} == {
        ("2", "disabled", "by"),
        ("1", "shadowed", "fake-a"),
    }


def test_of_several_reasons_against_a_name_the_switch_is_told(fake_dist, scan) -> None:
    fake_dist("fake-b", {"heads": {"part": "no import"}})
    fake_dist("fake-c", {"heads": {"part": "m:Part"}})
    with disabled_plugins(["fake-c"]), pytest.raises(PluginError, match=r"of fake-c 1.0 is disab"):
        scan().find("heads", "part")


def test_an_index_without_switches_can_be_asked_for(two, scan) -> None:
    with disabled_plugins(["*"]):
        assert "disabled" not in {ref.status for ref in PluginIndex.scan(()).refs}
        assert {ref.status for ref in scan().refs} == {"disabled"}


def test_the_switch_that_names_a_distribution_is_taken_out_by_that_name() -> None:
    switch = Switch.of(["Fake_A", "*"], "plugins.disable")
    assert switch.undo("fake-a") == "take fake-a out of plugins.disable to use it"
    assert switch.undo("fake-b") == "take '*' out of plugins.disable to use it"
