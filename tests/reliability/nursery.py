"""Forks runs of ``reid-train`` out of a process that has imported everything already.

    python nursery.py

Reads one JSON record a line: ``argv``, ``env``, ``log`` (a file for all that the run writes).
Answers ``{"pid": …}``, and ``{"pid": …, "code": …}`` when a run has ended; a signal's code is below
0. A run is a real process; a fork in place of the seconds that imports take starts it.
"""

from __future__ import annotations

import json
import os
import select
import sys
import traceback

import reid_core.cli.train
import reid_core.engine.default_trainer
import reid_core.evaluation


def run(record: dict[str, object]) -> None:
    """Become the run, in the forked process."""
    log = os.open(str(record["log"]), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ |= {str(k): str(v) for k, v in dict(record["env"]).items()}
    sys.argv = ["reid-train", *record["argv"]]
    code = 1
    try:
        reid_core.cli.train.main(record["argv"])
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def tell(**facts: int) -> None:
    """Write a line for whoever reads."""
    os.write(1, (json.dumps(facts) + "\n").encode())


def main() -> None:
    """Serve until standard input is closed."""
    tell(ready=1)
    rest = b""
    while True:
        if select.select([0], [], [], 0.01)[0]:
            read = os.read(0, 65536)
            if not read:
                return
            *lines, rest = (rest + read).split(b"\n")
            for line in lines:
                pid = os.fork()
                if pid == 0:
                    run(json.loads(line))
                tell(pid=pid)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            tell(pid=pid, code=os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
