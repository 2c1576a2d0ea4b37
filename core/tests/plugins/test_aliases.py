from __future__ import annotations

import logging

import pytest

from reid_core.errors import PluginError
from reid_core.plugins.index import PluginIndex
from reid_core.plugins.registry import Registry

OWN = "[reid_core.losses]\nsmooth_loss = fake_loss:Loss\n"


def only(index: PluginIndex, name: str) -> tuple[str, str, str]:
    (ref,) = [ref for ref in index.refs if ref.name == name]
    return ref.kind, ref.status, ref.detail


def test_an_alias_stands_for_a_component_of_its_distribution(fake_dist, scan) -> None:
    fake_dist("fake-a", OWN + "[reid_core.aliases]\nlosses.xent = smooth_loss\n")
    ref = scan().find("losses", "xent")
    assert (ref.name, ref.value, ref.alias_of) == ("xent", "fake_loss:Loss", "smooth_loss")
    assert (ref.status, ref.deprecated) == ("ok", False)
    assert scan().find("losses", "fake-a/xent") == ref
    assert [r.name for r in scan().refs] == ["smooth_loss", "xent"]


def test_an_alias_and_its_component_give_the_same_object(fake_dist, scan) -> None:
    text = OWN + "[reid_core.aliases]\nlosses.xent = smooth_loss\n"
    fake_dist("fake-a", text, modules={"fake_loss.py": "class Loss: ...\n"})
    losses = Registry("losses", scan())
    assert losses.get("xent") is losses.get("smooth_loss")


def test_a_deprecated_alias_works_and_warns_once_in_a_process(
    fake_dist, scan, caplog: pytest.LogCaptureFixture
) -> None:
    text = OWN + "[reid_core.deprecated_aliases]\nlosses.xent = smooth_loss\n"
    fake_dist("fake-a", text, version="0.1.0", modules={"fake_loss.py": "class Loss: ...\n"})
    assert scan().find("losses", "xent").deprecated
    with caplog.at_level(logging.WARNING, logger="reid_core"):
        for _ in range(2):
            losses = Registry("losses", scan())
            losses.resolve("xent")
            losses.get("xent")
            losses.build({"name": "xent"})
            losses.build({"name": "smooth_loss"})
    assert caplog.messages == ["loss 'xent' of fake-a 0.1.0 is deprecated; write 'smooth_loss'"]


def test_looking_a_deprecated_alias_up_says_nothing(
    fake_dist, scan, caplog: pytest.LogCaptureFixture
) -> None:
    fake_dist("fake-q", OWN + "[reid_core.deprecated_aliases]\nlosses.old = smooth_loss\n")
    Registry("losses", scan()).resolve("old")
    assert caplog.messages == []


def test_an_old_name_is_not_offered_in_messages(fake_dist, scan) -> None:
    fake_dist("fake-a", OWN + "[reid_core.deprecated_aliases]\nlosses.old = smooth_loss\n")
    with pytest.raises(PluginError, match=r"\(fake-a: smooth_loss\)"):
        scan().find("losses", "qqq")


@pytest.mark.parametrize(
    ("entry", "name", "kind", "detail"),
    [
        ("losses.xent = smoth_loss", "xent", "losses",
         "stands for 'smoth_loss', which fake-a does not provide; did you mean smooth_loss?"),
        ("heads.xent = smooth_loss", "xent", "heads",
         "stands for 'smooth_loss', which fake-a does not provide"),
        ("loss.xent = smooth_loss", "xent", "loss",
         "there is no kind 'loss'; did you mean losses?"),
        ("xent = smooth_loss", "xent", "aliases",
         "'xent' is no '<kind>.<alias>' such as 'losses.xent'"),
        ("losses.b = a\nlosses.a = smooth_loss", "b", "losses",
         "stands for 'a', which fake-a does not provide"),
    ],
)  # fmt: skip
def test_an_alias_of_nothing_is_bad_metadata(
    fake_dist, scan, entry: str, name: str, kind: str, detail: str
) -> None:
    fake_dist("fake-a", f"{OWN}[reid_core.aliases]\n{entry}\n")
    assert only(scan(), name) == (kind, "bad-metadata", detail)
    assert scan().find("losses", "smooth_loss").status == "ok"


def test_a_target_of_another_distribution_is_none(fake_dist, scan) -> None:
    fake_dist("fake-a", OWN)
    fake_dist("fake-b", "[reid_core.aliases]\nlosses.xent = smooth_loss\n")
    assert only(scan(), "xent")[1] == "bad-metadata"
    with pytest.raises(PluginError, match=r"stands for 'smooth_loss', which fake-b does not"):
        scan().find("losses", "xent")


def test_an_alias_takes_no_name_from_a_component_of_its_distribution(fake_dist, scan) -> None:
    text = "[reid_core.losses]\na = m:A\nb = m:B\n[reid_core.aliases]\nlosses.a = b\n"
    fake_dist("fake-a", text)
    assert scan().find("losses", "a").value == "m:A"
    details = [ref.detail for ref in scan().refs if ref.status == "bad-metadata"]
    assert details == ["fake-a has a component of that name too"]


def test_an_alias_conflicts_as_a_component_does(fake_dist, scan) -> None:
    fake_dist("fake-a", OWN + "[reid_core.aliases]\nlosses.xent = smooth_loss\n")
    fake_dist("fake-b", {"losses": {"xent": "m:Xent"}})
    assert [r.status for r in scan().refs] == ["ok", "conflict", "conflict"]
    with pytest.raises(PluginError, match=r"say which one: fake-a/xent or fake-b/xent"):
        scan().find("losses", "xent")
    assert scan().find("losses", "fake-a/xent").alias_of == "smooth_loss"


def test_an_alias_shares_what_is_wrong_with_its_distribution(fake_dist, scan) -> None:
    text = OWN + "[reid_core.aliases]\nlosses.xent = smooth_loss\n"
    fake_dist("fake-a", text, requires=["reid-core>=99"], version="2")
    fake_dist("fake-a", text + "losses.gone = nothing\n", version="1")
    assert {(r.name, r.version, r.status) for r in scan().refs} == {
        ("smooth_loss", "2", "incompatible"),
        ("xent", "2", "incompatible"),
        ("smooth_loss", "1", "shadowed"),
        ("xent", "1", "shadowed"),
        ("gone", "1", "shadowed"),
    }
