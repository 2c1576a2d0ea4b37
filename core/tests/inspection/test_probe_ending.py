from __future__ import annotations

import os
import sysconfig

import pytest

from reid_core.inspection.probe_ending import ending
from reid_core.inspection.probe_records import ProbeResult, Stage

LIBRARY = sysconfig.get_path("stdlib")
DUMP = f"""noise
  File "/not/this.py", line 1 in <module>
Timeout (0:00:03)!
Thread 0x0000 (most recent call first):
  File "{LIBRARY}/threading.py", line 320 in wait
  File "{LIBRARY}/site-packages/reid_plugin_x.py", line 7 in <module>
  File "<frozen importlib._bootstrap>", line 241 in _call
"""


def told(
    code: int | None, output: str = "", *, stage: Stage = "import", seconds: float = 3
) -> tuple[str, str]:
    finding = ending(ProbeResult(stage=stage), code, output, seconds)
    assert finding.level == "fault"
    return finding.rule, finding.message


def test_a_stop_names_the_innermost_place_outside_of_pythons_library() -> None:
    rule, message = told(1, DUMP)
    assert rule == "timeout"
    assert (
        f"after 3 s while it was imported ({LIBRARY}/site-packages/reid_plugin_x.py:7)" in message
    )


def test_a_place_in_pythons_library_is_better_than_none() -> None:
    only = f'Timeout (0:00:03)!\n  File "{LIBRARY}/threading.py", line 320 in wait\n'
    assert f"({LIBRARY}/threading.py:320)" in told(1, only)[1]
    assert "while it was imported; importing" in told(1, "Timeout (0:00:03)!\n")[1]


def test_a_stop_from_outside_is_told_as_one() -> None:
    assert told(None)[0] == "timeout"


@pytest.mark.skipif(os.name == "nt", reason="there are no signals")
def test_a_signal_is_named() -> None:
    rule, message = told(-9, stage="build")
    assert (rule, message) == ("crash", "crashed the process with SIGKILL while it was built")


def test_an_exit_is_told_with_its_code() -> None:
    rule, message = told(3, stage="signature")
    assert rule == "crash"
    assert message.startswith("ended the process with exit code 3 while its signature was read")


def test_one_that_did_not_begin_gives_the_last_line() -> None:
    assert told(1, "a\nb\n\n", stage="start") == ("probe", "the check could not begin: b")
    assert told(7, "", stage="start")[1] == "the check could not begin: exit code 7"
