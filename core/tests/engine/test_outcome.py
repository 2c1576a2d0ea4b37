from __future__ import annotations

import pickle
import signal

import pytest

from reid_core.engine import Interrupted


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_survives_the_way_between_processes(signum: int) -> None:
    error = Interrupted(signum)
    error.add_note("go on with: reid-train --resume runs/mine")
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.signum, str(copy)) == (signum, str(error))
    assert copy.status_code == 128 + signum
    assert copy.__notes__ == ["go on with: reid-train --resume runs/mine"]
