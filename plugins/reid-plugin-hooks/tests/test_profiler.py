from __future__ import annotations

import json
import re

import pytest

from reid_core.errors import ConfigError
from reid_core.hookspecs import hookimpl
from reid_plugin_hooks.profiler import Profiler


def profiler(**parameters):
    return {"name": "profiler", **parameters}


def recorded(folder):
    """Return the steps in the traces of a run, by file."""
    found = {}
    for path in sorted(folder.glob("trace_*.json")):
        events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
        names = {event.get("name", "") for event in events}
        assert any("convolution_backward" in name for name in names), "the operators of a step"
        found[path.name] = sorted(name for name in names if name.startswith("ProfilerStep"))
    return found


def test_the_steps_that_were_asked_for_are_recorded(tiny, tmp_path):
    tiny(profiler(start=1, steps=2)).run()
    folder = tmp_path / "run/profile"
    # The one numbered 0 warms up.
    assert recorded(folder) == {"trace_00000001.json": ["ProfilerStep#1", "ProfilerStep#2"]}
    table = (folder / "operators_00000001.txt").read_text(encoding="utf-8")
    assert "aten::convolution_backward" in table
    calls = re.search(r"aten::convolution_backward\s.*\s(\d+)\s*$", table, re.M)
    assert calls[1] == "2", "one convolution a step"


def test_a_recording_ends_with_its_epoch_and_holds_no_evaluation(tiny, tmp_path):
    trainer = tiny(profiler(start=2, steps=50, output="elsewhere"))

    class Look:
        @hookimpl
        def before_eval(self, trainer):
            assert trainer.hook("profiler")._profile is None

    trainer.register_hooks([Look()])
    trainer.run()
    # Of the first epoch, steps 2 and 3.
    expected = {"trace_00000002.json": ["ProfilerStep#1", "ProfilerStep#2"]}
    assert recorded(tmp_path / "run/elsewhere") == expected


def test_a_resumed_run_records_its_own_steps_in_files_of_their_own(tiny, tmp_path):
    tiny(profiler(start=1, steps=1)).run(until=4)
    tiny(profiler(start=1, steps=1)).run()
    assert list(recorded(tmp_path / "run/profile")) == [
        "trace_00000001.json",
        "trace_00000005.json",
    ]


def test_the_run_is_bitwise_the_same(tiny, require_equal):
    plain, other = tiny(run="plain").run(), tiny(profiler(start=1, steps=2)).run()
    require_equal(plain.model.state_dict(), other.model.state_dict())


@pytest.mark.parametrize("start", [8, 100])
def test_a_run_that_is_too_short_says_so(tiny, tmp_path, caplog, start):
    tiny(profiler(start=start)).run()
    assert f"the run was over before step {start} of it" in caplog.text
    assert not (tmp_path / "run/profile").exists()


@pytest.mark.parametrize("wrong", [{"start": 0}, {"steps": 0}])
def test_numbers_below_one_are_refused(wrong):
    with pytest.raises(ConfigError, match="expected at least 1 of each"):
        Profiler(**wrong)
