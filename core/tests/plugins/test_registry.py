from __future__ import annotations

import pickle
import sys
from functools import partial

import pytest

from reid_core.errors import ConfigError, PluginError
from reid_core.plugins.index import PluginIndex
from reid_core.plugins.registry import Registry

COUNTING = """
import sys
sys.fake_imports = getattr(sys, "fake_imports", 0) + 1
class Part: ...
def make(): return Part()
class Outer:
    Inner = Part
not_callable = 5
"""


@pytest.fixture
def heads() -> Registry:
    return Registry("heads", PluginIndex(()))


@pytest.fixture
def counter():
    sys.fake_imports = 0
    yield lambda: sys.fake_imports
    del sys.fake_imports


def message_of(registry: Registry, name: str) -> str:
    with pytest.raises(PluginError) as raised:
        registry.get(name)
    return str(raised.value)


def test_an_object_is_registered_by_decorator_or_call_and_stays_what_it_is(heads) -> None:
    @heads.register()
    class Part: ...

    @heads.register(name="other")
    def build() -> None: ...

    class Third: ...

    assert heads.register(Third) is Third
    assert heads.get("Part") is Part
    assert heads.get("other") is build
    assert heads.get("Third") is Third
    assert heads.names() == ("Part", "Third", "other")
    assert list(heads) == ["Part", "Third", "other"]
    assert "other" in heads
    assert "another" not in heads


def test_the_record_of_a_local_object_says_so(heads) -> None:
    heads.register(message_of, name="mine")
    for name in ("mine", "local/mine"):
        ref = heads.resolve(name)
        assert (ref.kind, ref.name, ref.dist, ref.status) == ("heads", "mine", "local", "ok")
        assert ref.value.endswith(":message_of")
        assert heads.get(name) is message_of


def test_one_name_for_two_objects_is_refused_and_the_first_stays(heads) -> None:
    heads.register(len, name="part")
    heads.register(len, name="part")  # the same object again is no conflict
    with pytest.raises(PluginError, match="heads: 'part' is registered already, as <built-in"):
        heads.register(max, name="part")
    assert heads.get("part") is len


def test_an_object_without_a_name_needs_one(heads) -> None:
    nameless = partial(len)
    with pytest.raises(PluginError, match="pass name="):
        heads.register(nameless)
    heads.register(nameless, name="part")
    assert heads.resolve("part").dist == "local"


def test_what_cannot_be_called_is_refused(heads) -> None:
    with pytest.raises(PluginError, match="'part' is a str; expected a class or function"):
        heads.register("part")
    with pytest.raises(PluginError, match="is a int"):
        heads.register(5, name="part")


def test_a_local_name_that_is_installed_too_must_say_which_one(fake_dist, scan) -> None:
    fake_dist("fake-a", {"heads": {"part": "fake_mod:Part"}}, modules={"fake_mod.py": COUNTING})
    heads = Registry("heads", scan())
    heads.register(len, name="part")
    assert message_of(heads, "part") == (
        "head 'part' was registered in this process and is provided by fake-a 1.0 "
        "(fake_mod:Part); say which one: local/part or fake-a/part"
    )
    assert heads.get("local/part") is len
    assert heads.get("fake-a/part").__name__ == "Part"


def test_a_broken_entry_point_takes_the_name_from_no_local_object(fake_dist, scan) -> None:
    fake_dist("fake-a", {"heads": {"part": "no import"}})
    heads = Registry("heads", scan())
    heads.register(len, name="part")
    assert heads.get("part") is len


def test_an_unknown_name_is_answered_with_local_and_installed_ones(fake_dist, scan) -> None:
    fake_dist("fake-a", {"losses": {"spread": "a:b"}})
    losses = Registry("losses", scan())
    losses.register(len, name="centroid")
    text = message_of(losses, "centriod")
    expected = "did you mean centroid? (fake-a: spread; this process: centroid)"
    assert f"unknown loss 'centriod'; {expected}" in text


def test_resolving_imports_nothing_and_getting_imports_once(fake_dist, scan, counter) -> None:
    fake_dist(
        "fake-a",
        {"heads": {"part": "fake_count:Part", "make": "fake_count:make"}},
        modules={"fake_count.py": COUNTING},
    )
    heads = Registry("heads", scan())
    assert heads.resolve("part").value == "fake_count:Part"
    assert heads.names() == ("make", "part")
    assert "part" in heads
    assert counter() == 0
    part = heads.get("part")
    assert part is heads.get("part") is heads.get("fake-a/part")
    assert heads.get("make") is sys.modules["fake_count"].make
    assert counter() == 1


def test_a_nested_attribute_is_reached(fake_dist, scan, counter) -> None:
    fake_dist(
        "fake-a",
        {"heads": {"part": "fake_count:Outer.Inner"}},
        modules={"fake_count.py": COUNTING},
    )
    assert Registry("heads", scan()).get("part") is sys.modules["fake_count"].Part


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import fake_broken.inner", "ModuleNotFoundError: No module named 'fake_broken.inner'"),
        ("raise ValueError('bad table')", "ValueError: bad table"),
        ("raise ImportError()", "ImportError()"),
        ("import sys; sys.exit()", "SystemExit()"),
        ("import sys; sys.exit('no licence')", "SystemExit: no licence"),
        ("def broken(:", "SyntaxError: "),
        ("", "AttributeError: module 'fake_broken' has no attribute 'Part'"),
    ],
)
def test_a_failed_import_names_distribution_entry_point_cause_and_command(
    fake_dist, scan, source: str, reason: str
) -> None:
    fake_dist(
        "fake-a",
        {"heads": {"part": "fake_broken:Part"}},
        version="1.2",
        modules={"fake_broken.py": source},
    )
    heads = Registry("heads", scan())
    with pytest.raises(PluginError) as raised:
        heads.get("part")
    text = str(raised.value)
    assert text.startswith("head 'part' of fake-a 1.2 (fake_broken:Part) cannot be loaded: ")
    assert reason in text
    assert text.endswith("pip install --upgrade fake-a")
    assert type(raised.value.__cause__).__name__ in reason


def test_a_failed_load_survives_the_way_between_processes(fake_dist, scan) -> None:
    fake_dist(
        "fake-a",
        {"heads": {"part": "fake_broken:Part"}},
        modules={"fake_broken.py": "raise ValueError('late')"},
    )
    with pytest.raises(PluginError) as raised:
        Registry("heads", scan()).get("part")
    raised.value.add_note("in a worker")
    copy = pickle.loads(pickle.dumps(raised.value))
    assert type(copy) is PluginError
    assert str(copy) == str(raised.value)
    assert copy.__notes__ == ["in a worker"]


def test_a_constructor_that_fails_is_named_and_its_error_kept(fake_dist, scan) -> None:
    source = "class Part:\n    def __init__(self, *, size=1):\n        1 / (size - 1)\n"
    fake_dist("fake-a", {"heads": {"part": "fake_part:Part"}}, modules={"fake_part.py": source})
    heads = Registry("heads", scan())
    with pytest.raises(ZeroDivisionError) as raised:
        heads.build({"name": "part"})
    assert raised.value.__notes__ == ["raised by head 'part' of fake-a 1.0 (fake_part:Part)"]
    assert heads.build({"name": "part", "size": 2})


def test_a_mistake_that_a_constructor_reports_gets_no_note(fake_dist, scan) -> None:
    source = "from reid_core.errors import ConfigError\ndef part():\n    raise ConfigError('no')\n"
    fake_dist("fake-a", {"heads": {"part": "fake_part:part"}}, modules={"fake_part.py": source})
    with pytest.raises(ConfigError) as raised:
        Registry("heads", scan()).build({"name": "part"})
    assert not hasattr(raised.value, "__notes__")


def test_a_failed_import_is_not_tried_again(fake_dist, scan, counter) -> None:
    source = COUNTING + "\nraise ValueError('late')\n"
    fake_dist("fake-a", {"heads": {"part": "fake_late:Part"}}, modules={"fake_late.py": source})
    heads = Registry("heads", scan())
    first = message_of(heads, "part")
    assert message_of(heads, "part") == message_of(heads, "fake-a/part") == first
    assert counter() == 1


def test_a_broken_distribution_breaks_no_other(fake_dist, scan, counter) -> None:
    fake_dist(
        "fake-a", {"heads": {"bad": "fake_bad:Part"}}, modules={"fake_bad.py": "raise OSError"}
    )
    fake_dist("fake-b", {"heads": {"good": "fake_count:Part"}}, modules={"fake_count.py": COUNTING})
    heads = Registry("heads", scan())
    message_of(heads, "bad")
    assert heads.get("good").__name__ == "Part"


def test_an_interrupt_during_an_import_is_no_plugin_error(fake_dist, scan) -> None:
    fake_dist(
        "fake-a",
        {"heads": {"part": "fake_stop:Part"}},
        modules={"fake_stop.py": "raise KeyboardInterrupt"},
    )
    with pytest.raises(KeyboardInterrupt):
        Registry("heads", scan()).get("part")


def test_what_an_entry_point_names_must_be_callable(fake_dist, scan, counter) -> None:
    fake_dist(
        "fake-a",
        {"heads": {"part": "fake_count:not_callable"}},
        modules={"fake_count.py": COUNTING},
    )
    text = message_of(Registry("heads", scan()), "part")
    assert text == (
        "head 'part' of fake-a 1.0 (fake_count:not_callable) is an object of type int; expected a "
        "class or function; reinstall or update it: pip install --upgrade fake-a"
    )


def test_registries_share_nothing() -> None:
    first, second = Registry("heads", PluginIndex(())), Registry("heads", PluginIndex(()))
    first.register(len, name="part")
    assert "part" not in second


def test_an_object_of_this_process_can_be_taken_back(heads: Registry) -> None:
    heads.register(dict, name="mine")
    heads.unregister("mine")
    heads.unregister("mine")
    assert heads.names() == ()
    heads.register(list, name="mine")
    assert heads.get("mine") is list
