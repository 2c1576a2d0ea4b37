"""Which protocol a set without cameras is evaluated by."""

import logging
from dataclasses import dataclass

import pytest

from reid_core.engine.evaluation.protocol_choice import protocol_for
from reid_core.errors import DataError
from reid_core.evaluation import (
    OtherCameras,
    cuhk03,
    leave_one_out,
    market1501,
    multi_query,
    no_camera,
    open_set,
    tracklets,
)


@pytest.mark.parametrize("protocol", [market1501(), open_set(), tracklets()])
def test_with_cameras_it_is_the_one_asked_for(protocol):
    assert protocol_for(protocol, has_cameras=True, what="set a") is protocol


def test_one_that_needs_none_stays(caplog):
    caplog.set_level(logging.WARNING, "reid_core")
    for protocol in (no_camera(), leave_one_out(), open_set(cameras="any")):
        assert protocol_for(protocol, has_cameras=False, what="set a") is protocol
    assert not caplog.messages


@pytest.mark.parametrize(
    ("protocol", "without", "said"),
    [
        (market1501(), no_camera(), "protocol no_camera (camera filter off), not by market1501;"),
        (
            open_set(),
            open_set(cameras="any"),
            "protocol open_set (camera filter off), not by open_set with cameras;",
        ),
        (
            leave_one_out(other_cameras=True),
            leave_one_out(),
            "protocol leave_one_out (camera filter off), not by leave_one_out with cameras;",
        ),
    ],
)
def test_without_cameras_its_other_form_is_taken_with_a_warning(protocol, without, said, caplog):
    caplog.set_level(logging.WARNING, "reid_core")
    assert protocol_for(protocol, has_cameras=False, what="set a") == without
    (message,) = caplog.messages
    assert message.startswith("set a: its cameras are not known, so it is evaluated by ")
    assert said in message


@pytest.mark.parametrize("protocol", [cuhk03(), tracklets(), multi_query()])
def test_without_cameras_a_rule_that_would_become_another_one_is_refused(protocol):
    with pytest.raises(DataError, match=rf"set a: .* protocol {protocol.name} needs them .*camid"):
        protocol_for(protocol, has_cameras=False, what="set a")


def test_a_third_partys_own_form_is_taken():
    @dataclass(frozen=True)
    class Rule(OtherCameras):
        def without_cameras(self):
            return no_camera()

        def grouped(self, gallery):
            return gallery.pids

    rule = Rule("rule", "groups")
    assert protocol_for(rule, has_cameras=False, what="set a") == no_camera()
